// A convolution or a matrix product, and what is done to its result, from the last op back to it.
#pragma once

#include "treadle/transforms/remap/Remapper.h"

namespace treadle::tfg {

/// How one op of the family is looked at and fused.
struct ContractionOp {
  llvm::StringLiteral op, fusedOp;
  /// The number of output channels where it is known, else negative.
  int64_t (*channels)(Node node);
  /// Whether a factor a channel can be an argument (fused_ops = [FusedBatchNorm]).
  bool takesBatchNorm;
  /// Element i of the filter belongs to channel i / inner % channels; inner is given by:
  int64_t (*inner)(Node node, const Tensor &filter);
};

/// Null for nodes of other ops, and for those that have no fused form.
const ContractionOp *findContraction(Node node);

/// The parts of a chain of ops.
struct Chain {
  NodeSet nodes;
  Node contraction;
  const ContractionOp *op = nullptr;
  int64_t channels = -1;
  /// Ops with a value a channel (BiasAdd, AddV2, Mul, FusedBatchNorm), the last one first.
  llvm::SmallVector<Node> affine;
  mlir::Value summand;
  std::string activation; // as fused_ops names it; empty for none
  float alpha = 0.2F;
};

/// The longest chain that ends in `root` and may be fused.
std::optional<Chain> findChain(Remapper &remapper, Node root);

/// The operand of an affine op that isn't the chain's.
mlir::Value sideOf(Node affine, mlir::Value main);

/// The elements of a constant, one a channel, as it is broadcast along the result; empty where it
/// isn't a constant or differs along other dimensions.
Tensor channelValues(const Remapper &remapper, const Chain &chain, mlir::Value value);

} // namespace treadle::tfg
