// Internal: what a variable is called.
#pragma once

#include "treadle/dialect/Tfg.h"

#include <string>

namespace treadle {

/// The name by which sessions know the variable that a node makes a handle or reference of:
/// `name`, or `container/name`.
inline std::string variableName(tfg::Node node) {
  auto text = [&](llvm::StringRef key) {
    auto attr = node.attr<mlir::StringAttr>(key);
    return attr ? attr.getValue().str() : std::string();
  };
  std::string name = text("shared_name"), container = text("container");
  if (name.empty() && node.opType() != "VarHandleOp") // all of these without a name are one
    name = node.name().str();
  return container.empty() ? name : container + "/" + name;
}

} // namespace treadle
