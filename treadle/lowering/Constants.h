// Nodes whose values are known: constants as tensors and back, and ops computed by the runtime's
// kernels.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/tensor/Attr.h"

#include "llvm/ADT/DenseSet.h"

namespace treadle::tfg {

/// The tensor as the value of a Const node; null where no attribute can hold it (handles).
mlir::Attribute attributeOf(const Tensor &tensor, mlir::MLIRContext *context);

/// The type of a dtype's elements.
mlir::Type elementTypeOf(DType dtype, mlir::MLIRContext *context);
/// The type of the tensor.
mlir::RankedTensorType typeOf(const Tensor &tensor, mlir::MLIRContext *context);

/// The attributes of a node as kernels want them, with what the op's definition adds.
Expected<AttrMap> kernelAttributes(Node node);

/// That a node has the inputs and outputs of its op; see checkSignature of a NodeSpec.
Expected<void> checkSignature(Node node, const AttrMap &attrs);

/// The constants of a module, converted when they are first asked for. Values that are fed are
/// none.
class Constants {
public:
  void setFed(mlir::Value value) { fed.insert(value); }
  bool isFed(mlir::Value value) const { return fed.contains(value); }

  /// Empty where the value isn't that of a Const node, or not of the dtype that the node states.
  Tensor valueOf(mlir::Value value);
  /// The elements of a constant of int32 or int64, nothing for any other value.
  std::optional<llvm::SmallVector<int64_t>> integersOf(mlir::Value value);
  /// To be called before a node goes: another may get its address.
  void forget(Node node) { known.erase(node.getOperation()); }

private:
  llvm::DenseMap<mlir::Operation *, Tensor> known;
  llvm::DenseSet<mlir::Value> fed;
};

/// Marks what `feeds` names (x or x:0) in the graph of a module; fails, having said why, where a
/// name is malformed. A feed that the graph doesn't have is another signature's.
llvm::LogicalResult markFed(mlir::ModuleOp module, llvm::ArrayRef<std::string> feeds,
                            Constants &constants);

/// Builds a Const of this value; null where no attribute can hold it.
Node buildConst(mlir::OpBuilder &builder, llvm::StringRef name, const Tensor &value, Node placedAs,
                mlir::ValueRange control);

/// What the node's kernel gives for these inputs. Unimplemented for nodes that call functions.
Expected<std::vector<Tensor>> evaluate(Node node, std::vector<Tensor> inputs);

} // namespace treadle::tfg
