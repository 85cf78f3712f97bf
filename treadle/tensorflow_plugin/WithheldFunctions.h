// Handles functions whose bodies TensorFlow withholds: for most optimizers it sends declarations
// without bodies, and ignores changes to them.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <string_view>

namespace treadle::tensorflow {

/// Removes the functions from a serialized GraphDef if one of them is only a declaration, and
/// restores them later. Meanwhile calls have unknown ops, which passes leave unchanged.
class WithheldFunctions {
public:
  /// Returns the GraphDef to rewrite.
  Expected<std::string> removeFrom(std::string_view graph);
  Expected<std::string> restoreTo(std::string graph) const;

private:
  std::string withheld; // a serialized FunctionDefLibrary
};

} // namespace treadle::tensorflow
