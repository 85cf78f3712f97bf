// What passes over graphs share: nodes made, replaced and removed without losing a control
// dependency, names kept unique, and what may be removed or merged at all.
#pragma once

#include "treadle/dialect/FunctionNames.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace treadle::tfg {

/// Builds one node, at the builder's insertion point:
///
///     Node sum = NodeBuilder(builder, "AddV2").name(names.unique("sum")).attr("T", type)
///                    .inputs({x, y}).control(init).results({x.getType()}).build();
class NodeBuilder {
public:
  NodeBuilder(mlir::OpBuilder &builder, llvm::StringRef opType);

  NodeBuilder &name(llvm::StringRef name);
  /// The requested and the assigned device, and the location, of another node.
  NodeBuilder &placedAs(Node other);
  NodeBuilder &attr(llvm::StringRef key, mlir::Attribute value);
  NodeBuilder &attrs(llvm::ArrayRef<mlir::NamedAttribute> values);
  NodeBuilder &inputs(mlir::ValueRange values);
  /// A null token is ignored, and so is one that is there already.
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

/// A node that hands values on: an Identity, of several an IdentityN, of none a NoOp. Its name, its
/// place and its tokens are left to say. `types`: of its results, where they aren't the values'.
NodeBuilder handOn(mlir::OpBuilder &builder, mlir::ValueRange values, mlir::TypeRange types = {});

/// The names of the nodes (and, in a function, the arguments) of one body.
class NameScope {
public:
  explicit NameScope(mlir::Block &body);

  /// `base` where it is free, else `base_1`, `base_2`, ...; taken from then on.
  std::string unique(llvm::StringRef base);
  bool contains(llvm::StringRef name) const { return names.contains(name); }

private:
  llvm::StringSet<> names;
  llvm::StringMap<unsigned> next; // the suffix to try first
};

/// The value of an attribute `T` for a tensor type: its dtype, without what is known of a handle,
/// and for a reference that of what it refers to.
mlir::TypeAttr dtypeAttr(mlir::Type tensorType);

/// Replaces the control inputs.
void setControl(Node node, mlir::ValueRange tokens);
/// Adds a control input, if it isn't there and the node isn't its own.
void addControl(Node node, mlir::Value token);

/// The tokens that order what waits for `node` once it is gone: its control inputs and those of
/// its data inputs' nodes, each once.
llvm::SmallVector<mlir::Value> tokensBefore(Node node);

/// Who waits for `token` waits for `replacements` instead; where that gives a node the same control
/// input twice, one goes. A token that a function returns needs at least one replacement. `isUser`
/// says who of them, if not all.
void replaceControl(mlir::Value token, mlir::ValueRange replacements,
                    llvm::function_ref<bool(mlir::Operation *)> isUser = nullptr);

/// Removes a node whose data results are no longer used. What waited for it waits for what it
/// waited for.
void eraseKeepingOrder(Node node);

/// What the bodies of a module's functions do, asked by the nodes that call them.
class Effects {
public:
  explicit Effects(mlir::ModuleOp module);

  /// Whether the node only computes its results from its inputs: then it may be removed where
  /// nobody uses them, and two such nodes of equal inputs may be one. False for ops that nobody
  /// knows, for v1 control flow, for calls of functions that aren't pure all through, and for
  /// whatever has regions.
  bool isPure(Node node);
  /// Whether nobody can notice that the node doesn't run: it is pure, or only decides what runs.
  bool isEffectFree(Node node);
  /// Whether the node has regions, in which all nodes are pure: it may be removed where nobody uses
  /// its results.
  bool hasPureRegions(Node node);
  /// Whether all nodes of a function are pure; false where there is no such function.
  bool isPureFunction(llvm::StringRef name);
  /// A function that wasn't there when this was made.
  void add(FuncOp function) { functions[function.getName()] = function; }

private:
  FunctionMap functions;
  llvm::StringMap<bool> known; // being looked into: false
};

/// Switch, Merge, Enter, Exit, NextIteration, LoopCond, and their ref forms.
bool isV1ControlFlow(Node node);

/// A value that is fed, or, with a default, may be.
bool isPlaceholder(Node node);

/// Calls `visit` for the body of the graph and of each function that has one (generic ones too if
/// `withGeneric`).
void forEachBody(mlir::ModuleOp module, llvm::function_ref<void(mlir::Block &)> visit,
                 bool withGeneric = false);

/// Calls `visit` for the bodies of all regions of `body`'s nodes, at any depth, inner ones first.
void forEachRegionBody(mlir::Block &body, llvm::function_ref<void(mlir::Block &)> visit);

} // namespace treadle::tfg
