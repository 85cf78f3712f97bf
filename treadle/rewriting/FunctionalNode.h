// Nodes that call functions on their own inputs (calls, If, Case, While), and changes of their
// signatures.
#pragma once

#include "treadle/rewriting/Rewriting.h"

#include "llvm/ADT/BitVector.h"

#include <optional>

namespace treadle::tfg {

enum class FunctionalKind { Call, Branch, While };

/// A node with the functions that it calls. Data input `firstArgument + i` is argument `i` of each
/// function, and result `i` is result `i` of each (for While: of the body, and it is an argument as
/// well).
struct FunctionalNode {
  /// Returns nullopt if the node isn't functional, or if a function is missing, external, generic,
  /// referenced with attributes, or has another number of arguments or results.
  static std::optional<FunctionalNode> of(Node node, const FunctionMap &functions);

  Node node;
  FunctionalKind kind = FunctionalKind::Call;
  unsigned firstArgument = 0;
  /// The branches; or the only callee; or the condition, then the body.
  llvm::SmallVector<FuncOp, 2> functions;

  auto arguments() const { return node.data().drop_front(firstArgument); }
};

/// Replaces the node with a call of another function.
Node replaceCall(Node node, llvm::StringRef function, llvm::ArrayRef<mlir::NamedAttribute> attrs);
/// Replaces the functions that the node calls, by their old names. Returns the node, or the one
/// that replaced it.
Node replaceCallees(Node node, const llvm::StringMap<mlir::StringAttr> &renamed);

/// Erases data arguments, which must be unused.
void eraseArguments(FuncOp function, const llvm::BitVector &arguments);
/// Erases data results.
void eraseResults(FuncOp function, const llvm::BitVector &results);

/// Replaces the node with one without some arguments and results. Uses of the other results are
/// updated, and so are attributes that list types and shapes.
Node eraseFromNode(const FunctionalNode &functional, const llvm::BitVector &arguments,
                   const llvm::BitVector &results);

} // namespace treadle::tfg
