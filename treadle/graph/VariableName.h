// Internal: what a variable is called.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/ops/OpTable.h"

#include <string>

namespace treadle {

/// A handle of a variable, or a reference to one.
inline bool makesVariable(tfg::Node node) {
  std::string_view family = resourceFamily(node.opType());
  return family == "variable" || family == "reference variable";
}

/// The name by which sessions know the variable that a node makes a handle or reference of:
/// `name`, or `container/name`.
inline std::string variableName(tfg::Node node) {
  auto text = [&](llvm::StringRef key) {
    auto attr = node.attr<mlir::StringAttr>(key);
    return attr ? attr.getValue().str() : std::string();
  };
  std::string name = text("shared_name"), container = text("container");
  // All handles without a name are those of one variable.
  if (name.empty() && resourceFamily(node.opType()) != "variable")
    name = node.name().str();
  return container.empty() ? name : container + "/" + name;
}

} // namespace treadle
