// The attributes of v1 control flow nodes that were lowered from a functional node, by which that
// node can be restored.
#pragma once

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// Returns the attributes for the node that takes over the functional node's name: its op, and its
/// attributes except those that follow from the nodes around it.
llvm::SmallVector<mlir::NamedAttribute> savedAttrs(Node node);

/// Returns the name of the functional node that a node was lowered from; null for other nodes.
inline mlir::StringAttr loweredFrom(Node node) {
  return node.attr<mlir::StringAttr>(loweredFromKey);
}
inline bool isLowered(Node node) { return loweredFrom(node) != nullptr; }
/// Returns the index of the input that the node takes in; null for other nodes.
inline mlir::IntegerAttr loweredInput(Node node) {
  return node.attr<mlir::IntegerAttr>(loweredInputKey);
}

/// Restores the names, ops and attributes of functional nodes of a body that were lowered before,
/// if a node records them and the results match.
void restoreLowered(mlir::Block &body);

} // namespace treadle::tfg
