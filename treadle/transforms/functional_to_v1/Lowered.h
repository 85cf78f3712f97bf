// The marks that nodes of v1 control flow carry if they were made of a functional node, by which
// that node is made again.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// On the node that takes a functional node's name: that node's op, and (as `_lowered.KEY`) its
/// attributes.
inline constexpr llvm::StringLiteral loweredKey = "_lowered";
/// On every other node made of a functional node: that node's name.
inline constexpr llvm::StringLiteral loweredFromKey = "_lowered_from";
/// On an Enter or Switch: which input (the selector of branches left out) it lets in.
inline constexpr llvm::StringLiteral loweredInputKey = "_lowered_input";

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
