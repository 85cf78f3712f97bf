// The framework of passes over graphs: creating, replacing and erasing nodes without losing control
// dependencies, unique names, and the analysis of which nodes may be removed or merged.
#pragma once

#include "treadle/dialect/FunctionNames.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::tfg {

/// Builds one node at the builder's insertion point:
///
///     Node sum = NodeBuilder(builder, "AddV2").name(names.unique("sum")).attr("T", type)
///                    .inputs({x, y}).control(init).results({x.getType()}).build();
class NodeBuilder {
public:
  NodeBuilder(mlir::OpBuilder &builder, llvm::StringRef opType);

  NodeBuilder &name(llvm::StringRef name);
  /// Copies the requested device, the assigned device and the location of another node.
  NodeBuilder &placedAs(Node other);
  NodeBuilder &attr(llvm::StringRef key, mlir::Attribute value);
  NodeBuilder &attrs(llvm::ArrayRef<mlir::NamedAttribute> values);
  NodeBuilder &inputs(mlir::ValueRange values);
  /// Adds a control input; ignores null tokens and duplicates.
  NodeBuilder &control(mlir::Value token);
  NodeBuilder &control(mlir::ValueRange tokens);
  NodeBuilder &results(mlir::TypeRange types);
  Node build();

private:
  mlir::OpBuilder &builder;
  mlir::OperationName opName;
  mlir::Location location;
  mlir::NamedAttrList attributes;
  llvm::SmallVector<mlir::Value> data, tokens;
  llvm::SmallVector<mlir::Type> types;
};

/// Starts a node that forwards values: an Identity, an IdentityN for several values, or a NoOp for
/// none. Name, device and control inputs must be set. `types` are the types of its results if they
/// differ from the values'.
NodeBuilder forwardValues(mlir::OpBuilder &builder, mlir::ValueRange values,
                          mlir::TypeRange types = {});

/// The names of the nodes (and, in a function, the arguments) of one body.
class NameScope {
public:
  explicit NameScope(mlir::Block &body);

  /// Returns `base` if it is unused, otherwise `base_1`, `base_2`, ..., and reserves it.
  std::string unique(llvm::StringRef base);
  bool contains(llvm::StringRef name) const { return names.contains(name); }

private:
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> next; // the first suffix to try
};

/// Returns the attribute `T` for a tensor type: its dtype, without subtypes of a handle, and
/// dereferenced.
mlir::TypeAttr dtypeAttr(mlir::Type tensorType);

/// Replaces the control inputs.
void setControl(Node node, mlir::ValueRange tokens);
/// Adds a control input, unless it exists or is the node's own token.
void addControl(Node node, mlir::Value token);

/// Returns the tokens that users of `node` must wait for once it is erased: its control inputs and
/// the tokens of its data inputs' nodes, without duplicates.
llvm::SmallVector<mlir::Value> tokensBefore(Node node);

/// Replaces uses of `tokens` with `replacements`, without duplicates. A token that a function
/// returns needs at least one replacement. `isUser` restricts the users.
void replaceControl(llvm::ArrayRef<mlir::Value> tokens, mlir::ValueRange replacements,
                    llvm::function_ref<bool(mlir::Operation *)> isUser = nullptr);

/// Erases a node whose data results are unused. Its control users get its control inputs and the
/// tokens of its data inputs' nodes.
void eraseKeepingOrder(Node node);

/// Purity of nodes and of the functions that they call.
class Effects {
public:
  explicit Effects(mlir::ModuleOp module);

  /// Returns whether the node only computes its results from its inputs. Such a node may be removed
  /// if it is unused, and merged with an equal one. False for unknown ops, v1 control flow, calls
  /// of functions that aren't pure, and nodes with regions.
  bool isPure(Node node);
  /// Returns whether it is unobservable that the node doesn't run: it is pure, or only control
  /// flow.
  bool isEffectFree(Node node);
  /// Returns whether the node has regions that contain only pure nodes, so that it may be removed
  /// if its results are unused.
  bool hasPureRegions(Node node);
  /// Returns whether all nodes of a function are pure; false if the function doesn't exist.
  bool isPureFunction(llvm::StringRef name);
  /// Adds a function that was created after this object.
  void add(FuncOp function) { functions[function.getName()] = function; }

private:
  bool isPureBody(FuncOp function);

  FunctionMap functions;
  llvm::StringMap<bool> known; // whether a function is pure
};

/// Returns whether the op is Switch, Merge, Enter, Exit, NextIteration, LoopCond or one of their
/// ref forms.
bool isV1ControlFlow(Node node);

/// Returns whether the node's value is fed, or may be if it has a default.
bool isPlaceholder(Node node);

/// Calls `visit` for the body of the graph and of each function with a body (including generic ones
/// if `withGeneric`).
void forEachBody(mlir::ModuleOp module, llvm::function_ref<void(mlir::Block &)> visit,
                 bool withGeneric = false);

/// Calls `visit` for the bodies of all regions of `body`'s nodes at any depth, innermost first.
void forEachRegionBody(mlir::Block &body, llvm::function_ref<void(mlir::Block &)> visit);

} // namespace treadle::tfg
