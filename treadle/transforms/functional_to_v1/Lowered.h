// The marks that nodes of v1 control flow carry if they were made of a functional node, by which
// that node is made again.
#pragma once

#include "treadle/transforms/rewriting/Rewriting.h"

namespace treadle::tfg {

/// On every node made: the functional node's op.
inline constexpr llvm::StringLiteral loweredKey = "_lowered";

/// "While", "If", "Case" or "For" for the forms of these, else empty.
llvm::StringRef functionalKind(Node node);

/// What the node that takes a functional node's name carries: the op, and the attributes but for
/// functions and lists of types, as `_lowered.KEY`.
llvm::SmallVector<mlir::NamedAttribute> savedAttrs(Node node);

inline bool isLowered(Node node) { return node.attr(loweredKey) != nullptr; }

/// Gives functional nodes of a body the names, ops and attributes that they had before they were
/// lowered, where a node says so and gives just their results.
void restoreLowered(mlir::Block &body);

} // namespace treadle::tfg
