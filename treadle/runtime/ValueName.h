// The names that users give values of a graph.
#pragma once

#include "treadle/runtime/Graph.h"

namespace treadle {

/// A value of a graph by name: `x`, `x:0`, `x:0@3`, `x:0@last@*`.
struct ValueName {
  std::string node;
  int output = 0;
  std::vector<IterationSelector> iterations;
};

/// InvalidArgument for anything else.
Expected<ValueName> parseValueName(std::string_view text);

/// `x` of `x:0` and of `x`.
std::string nodeOf(std::string_view valueName);

/// `x:0` of `x:0` and of `x`.
std::string withOutput(std::string_view valueName);

} // namespace treadle
