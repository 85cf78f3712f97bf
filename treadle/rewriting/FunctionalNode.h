// Nodes that run functions on their own inputs (calls, If, Case, While), and editing what they and
// their functions take and give.
#pragma once

#include "treadle/rewriting/Rewriting.h"

#include "llvm/ADT/BitVector.h"

#include <optional>

namespace treadle::tfg {

enum class FunctionalKind { Call, Branch, While };

/// A node with the functions that it names. Data input `firstArgument + i` is argument `i` of each
/// function, result `i` is result `i` of each (for While: of the body, and an argument as well).
struct FunctionalNode {
  /// Nothing if the node is none, or a function is missing, external, generic, or asked for with
  /// attributes, or has another number of arguments or results.
  static std::optional<FunctionalNode> of(Node node, const FunctionMap &functions);

  Node node;
  FunctionalKind kind = FunctionalKind::Call;
  unsigned firstArgument = 0;
  /// The branches; or the one callee; or the condition, then the body.
  llvm::SmallVector<FuncOp, 2> functions;

  auto arguments() const { return node.data().drop_front(firstArgument); }
};

/// A call of another function in the place of the node.
Node replaceCall(Node node, llvm::StringRef function, llvm::ArrayRef<mlir::NamedAttribute> attrs);
/// Makes the node run other functions, by their old names. Gives the node, or the one in its place.
Node callInstead(Node node, const llvm::StringMap<mlir::StringAttr> &renamed);

/// Removes data arguments, which nothing may use.
void eraseArguments(FuncOp function, const llvm::BitVector &arguments);
/// Removes data results.
void eraseResults(FuncOp function, const llvm::BitVector &results);

/// Another node in the place of this one, without some arguments and results; what used the other
/// results uses its. Attributes that list their types and shapes follow.
Node eraseFromNode(const FunctionalNode &functional, const llvm::BitVector &arguments,
                   const llvm::BitVector &results);

} // namespace treadle::tfg
