// New functions out of nodes that stand elsewhere: the cond, body and branch functions that passes
// make of loops and conditionals.
#pragma once

#include "treadle/rewriting/Rewriting.h"

#include "mlir/IR/IRMapping.h"

namespace treadle::tfg {

/// The names of a module's functions.
class FunctionNames {
public:
  explicit FunctionNames(mlir::ModuleOp module);

  /// `base` as a function may be called (characters that it may not have become '_'), with a suffix
  /// where that is taken; taken from then on.
  std::string unique(llvm::StringRef base);

private:
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> next;
};

/// Letters, digits and '_', the first one a lower-case letter: what arguments may be called.
std::string argumentName(llvm::StringRef nodeName);

/// What a value is called: its node's name, or its argument's.
llvm::StringRef nameOf(mlir::Value value);

/// A function in the making, at the end of a module. Say first which values of the old place are
/// which arguments (or other values of the function), clone the nodes, in any order, and finish:
///
///     Outline body(module, names.unique("body"));
///     body.map(sum.data()[0], body.addArgument(type, "x"));
///     body.clone(sum);
///     FuncOp function = body.finish({sum.results()[0]}, {"sum"}, {});
class Outline {
public:
  Outline(mlir::ModuleOp module, llvm::StringRef name, mlir::Location location);

  /// The value; its token is controlTokenOf(value).
  mlir::Value addArgument(mlir::Type type, llvm::StringRef name);
  void map(mlir::Value outer, mlir::Value inner) { mapping.map(outer, inner); }
  bool contains(mlir::Value outer) const { return mapping.contains(outer); }
  mlir::Value lookup(mlir::Value outer) const { return mapping.lookupOrDefault(outer); }
  /// A copy of the node, whose operands are resolved by finish(): data operands must be mapped or
  /// cloned by then; tokens that aren't are dropped, since the call waits for them.
  Node clone(Node node);
  /// The node itself; nothing outside may use it any more. Its operands are resolved in the same
  /// way.
  void take(Node node);
  /// Where nodes made for the function alone go; what they use is not touched by finish().
  mlir::OpBuilder &atEnd() { return builder; }
  /// A name for such a node.
  std::string uniqueName(llvm::StringRef base);

  /// Values and tokens may be outer ones that are mapped. Names are made unique.
  FuncOp finish(mlir::ValueRange results, llvm::ArrayRef<std::string> resultNames,
                mlir::ValueRange control);
  /// Takes the function away again.
  void discard() { function.erase(); }

  llvm::StringRef name() { return function.getName(); }
  mlir::Block &body() { return function.getEntry(); }

private:
  void resolve(Node node);
  mlir::ArrayAttr nameAttrs(llvm::ArrayRef<std::string> names, bool withTokens);

  mlir::OpBuilder builder;
  FuncOp function;
  mlir::IRMapping mapping;
  llvm::SmallVector<Node> clones;
  llvm::SmallVector<std::string> argumentNames;
  llvm::StringSet<> nodeNames;
};

} // namespace treadle::tfg
