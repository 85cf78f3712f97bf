// Outlining: creation of functions from existing nodes, such as the condition, body and branch
// functions of loops and conditionals.
#pragma once

#include "treadle/rewriting/Rewriting.h"

#include "mlir/IR/IRMapping.h"

namespace treadle::tfg {

/// The names of a module's functions.
class FunctionNames {
public:
  explicit FunctionNames(mlir::ModuleOp module);

  /// Returns a valid function name based on `base` (invalid characters become '_'), with a suffix
  /// if it is taken, and reserves it.
  std::string unique(llvm::StringRef base);

private:
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> next;
};

/// Returns a valid argument name: letters, digits and '_', starting with a lower-case letter.
std::string argumentName(llvm::StringRef nodeName);

/// Returns the name of the node or argument that defines a value.
llvm::StringRef nameOf(mlir::Value value);

/// A function under construction, at the end of a module. First map values of the old body to
/// arguments or other values of the function, then clone the nodes in any order, then finish:
///
///     Outline body(module, names.unique("body"));
///     body.map(sum.data()[0], body.addArgument(type, "x"));
///     body.clone(sum);
///     FuncOp function = body.finish({sum.results()[0]}, {"sum"}, {});
class Outline {
public:
  Outline(mlir::ModuleOp module, llvm::StringRef name, mlir::Location location);

  /// Returns the value; its token is controlTokenOf(value).
  mlir::Value addArgument(mlir::Type type, llvm::StringRef name);
  void map(mlir::Value outer, mlir::Value inner) { mapping.map(outer, inner); }
  bool contains(mlir::Value outer) const { return mapping.contains(outer); }
  mlir::Value lookup(mlir::Value outer) const { return mapping.lookupOrDefault(outer); }
  /// Copies the node. finish() resolves its operands: data operands must be mapped or cloned by
  /// then; unmapped tokens are dropped, since the call waits for them.
  Node clone(Node node);
  /// Moves the node, which must have no uses outside. Operands are resolved in the same way.
  void take(Node node);
  /// Returns a builder for new nodes of the function, whose operands finish() doesn't change.
  mlir::OpBuilder &atEnd() { return builder; }
  /// Returns a unique name for a node that atEnd() creates.
  std::string uniqueName(llvm::StringRef base);

  /// Completes the function. Values and tokens may be outer ones that are mapped. Names are made
  /// unique.
  FuncOp finish(mlir::ValueRange results, llvm::ArrayRef<std::string> resultNames,
                mlir::ValueRange control);
  /// Erases the function.
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
