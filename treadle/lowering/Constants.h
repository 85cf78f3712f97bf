// Constants: conversion to tensors and back, and evaluation of ops with the runtime's kernels.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/tensor/Attr.h"

#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

/// Returns the tensor as the value of a Const node; null if no attribute can hold it (handles).
mlir::Attribute attributeOf(const Tensor &tensor, mlir::MLIRContext *context);

/// Returns the element type of a dtype.
mlir::Type elementTypeOf(DType dtype, mlir::MLIRContext *context);
/// Returns the type of a tensor.
mlir::RankedTensorType typeOf(const Tensor &tensor, mlir::MLIRContext *context);

/// Returns the attributes of a node as kernels expect them, with defaults of the op definition.
Expected<AttrMap> kernelAttributes(Node node);

/// Checks the inputs and outputs of a node against its op; see checkSignature of a NodeSpec.
Expected<void> checkSignature(Node node, const AttrMap &attrs);

/// The constants of a module, converted at first use. Fed values don't count as constants.
class Constants {
public:
  void setFed(mlir::Value value) { fed.insert(value); }
  bool isFed(mlir::Value value) const { return fed.contains(value); }

  /// Returns an empty tensor unless the value is that of a Const node with the dtype that the node
  /// states.
  Tensor valueOf(mlir::Value value);
  /// Returns the elements of an int32 or int64 constant; nullopt for other values.
  std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Value value);
  /// Must be called before a node is erased: another may get its address.
  void forget(Node node) { known.erase(node.getOperation()); }

private:
  llvm::DenseMap<mlir::Operation *, Tensor> known;
  llvm::DenseSet<mlir::Value> fed;
};

/// Marks the values that `feeds` names (x or x:0) in the graph of a module. Emits an error and
/// fails if a name is malformed. Ignores names that the graph doesn't have, which belong to another
/// signature.
llvm::LogicalResult markFed(mlir::ModuleOp module, llvm::ArrayRef<std::string> feeds,
                            Constants &constants);

/// Builds a Const with this value; returns null if no attribute can hold it.
Node buildConst(mlir::OpBuilder &builder, llvm::StringRef name, const Tensor &value, Node placedAs,
                mlir::ValueRange control);

/// Evaluates the node's kernel for these inputs. Returns Unimplemented for nodes that call
/// functions.
Expected<std::vector<Tensor>> evaluate(Node node, std::vector<Tensor> inputs);

} // namespace treadle::tfg
