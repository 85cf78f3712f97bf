// Internal: names of variables.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/ops/OpTable.h"

#include <string>

namespace treadle {

/// Whether the node creates a variable's handle or a reference to a variable.
inline bool makesVariable(tfg::Node node) {
  std::string_view family = resourceFamily(node.opType());
  return family == "variable" || family == "reference variable";
}

/// Returns the name under which sessions store the node's variable: `name`, or `container/name`.
inline std::string variableName(tfg::Node node) {
  auto text = [&](llvm::StringRef key) {
    auto attr = node.attr<mlir::StringAttr>(key);
    return attr ? attr.getValue().str() : std::string();
  };
  std::string name = text("shared_name"), container = text("container");
  // All handles without a name refer to one variable.
  if (name.empty() && resourceFamily(node.opType()) != "variable")
    name = node.name().str();
  return container.empty() ? name : container + "/" + name;
}

} // namespace treadle
