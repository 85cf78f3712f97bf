// Functions that TensorFlow withholds: for most optimizers it sends declarations alone, functions
// without bodies, and drops whatever becomes of them.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>

namespace treadle::tensorflow {

/// Takes the functions out of a serialized GraphDef where one of them is but a declaration, and
/// puts them back. Calls are then calls of what nobody knows, which passes leave alone.
class Library {
public:
  /// The GraphDef to work on.
  Expected<std::string> takeFrom(std::string_view graph);
  Expected<std::string> putBackInto(std::string graph) const;

private:
  std::string taken; // a serialized FunctionDefLibrary
};

} // namespace treadle::tensorflow
