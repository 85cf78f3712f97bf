// The marks that nodes of v1 control flow carry if they were made of a functional node, by which
// that node is made again.
#pragma once

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// What the node that takes a functional node's name carries: the op, and the attributes but for
/// those that follow from the nodes around it.
llvm::SmallVector<mlir::NamedAttribute> savedAttrs(Node node);

/// The functional node that a node was made of, null for other nodes.
inline mlir::StringAttr loweredFrom(Node node) {
  return node.attr<mlir::StringAttr>(loweredFromKey);
}
inline bool isLowered(Node node) { return loweredFrom(node) != nullptr; }
/// Null for nodes that let no input in.
inline mlir::IntegerAttr loweredInput(Node node) {
  return node.attr<mlir::IntegerAttr>(loweredInputKey);
}

/// Gives functional nodes of a body the names, ops and attributes that they had before they were
/// lowered, where a node says so and gives just their results.
void restoreLowered(mlir::Block &body);

} // namespace treadle::tfg
