// Names of values of a graph, as users write them.
#pragma once

#include "treadle/runtime/Graph.h"

namespace treadle {

/// A parsed name of a value: `x`, `x:0`, `x:0@3`, `x:0@last@*`.
struct ValueName {
  std::string node;
  int output = 0;
  std::vector<IterationSelector> iterations;
};

/// Returns InvalidArgument for anything else.
Expected<ValueName> parseValueName(std::string_view text);

/// Returns `x` for `x:0` and for `x`.
std::string nodeOf(std::string_view valueName);

/// Returns `x:0` for `x:0` and for `x`.
std::string withOutput(std::string_view valueName);

} // namespace treadle
