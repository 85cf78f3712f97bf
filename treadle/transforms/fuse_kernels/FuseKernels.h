// Fusion of nodes that one kernel of the runtime computes in one pass over memory. Unlike
// tfg-remap, it doesn't need shapes, and TensorFlow doesn't know most of the fused ops. The nodes
// of a group are between the same exchanges, except nodes that only rearrange data and become
// unnecessary.
#pragma once

#include "treadle/lowering/Constants.h"
#include "treadle/lowering/PrunedSubgraph.h"
#include "treadle/transforms/fuse_kernels/CommunicationOrder.h"

namespace treadle::tfg {

/// The facts about a body that fusion needs.
struct FusionScope {
  mlir::Block &body;
  llvm::function_ref<bool(llvm::StringRef)> isFunction; // whether an op calls a function
  const llvm::StringSet<> &kept;                        // nodes that must not be fused into others
  Constants &constants;
  const CommunicationOrder &exchanges;

  bool isKept(Node node) const { return !kept.empty() && kept.contains(node.name()); }
  /// Returns the node of this op whose first result is `value`; else null.
  Node producer(mlir::Value value, llvm::StringRef opType) const;
  /// Returns the dimensions that the graph specifies for a value. They may be wrong if they come
  /// from an attribute.
  std::optional<llvm::SmallVector<int64_t>> declaredDims(mlir::Value value) const;
};

/// Calls `visit` for the body of the graph, whose nodes `keep` are kept, and for the body of each
/// function.
void forEachFusionScope(mlir::ModuleOp module, llvm::ArrayRef<std::string> keep,
                        Constants &constants, llvm::function_ref<void(const FusionScope &)> visit);
/// Does the same; kept nodes may be fed as well.
void forEachFusionScope(mlir::ModuleOp module, llvm::ArrayRef<std::string> keep,
                        llvm::function_ref<void(const FusionScope &)> visit);

/// Fuses a convolution or matrix product with its epilogue if nothing else uses the values in
/// between: a bias or batch normalization (for inference), products and sums, an activation. Also
/// removes a Transpose before the filter or after the filter's gradient. Results are the same,
/// except for the rounding of factors and offsets that are combined.
void fuseContractions(const FusionScope &scope);

/// Returns whether a node is a batch normalization of floats for inference, with the data format
/// `format` and uses of its first result only.
bool isNormalisation(Node node, llvm::StringRef format = "NHWC");

/// Inserts a node "Scale", which returns its input, before each such normalization that doesn't
/// follow a contraction, and before x in x * f + (offset - mean * f). Only fusion may run
/// afterwards.
llvm::SmallVector<Node> insertScaleMarkers(const FusionScope &scope);

/// Fuses each such normalization with its epilogue.
void fuseScales(const FusionScope &scope);

/// Fuses a step of an LSTM after the sums of its four gates: a bias, the split, the gates'
/// functions, the next cell state and output. Nothing else may use the values in between. Results
/// are the same.
void fuseLstmGates(const FusionScope &scope);

/// Fuses attention: the product of queries and keys, a factor, an additive mask, the softmax, and
/// the product with values. Nothing else may use the values in between. Results are the same,
/// except for rounding.
void fuseAttention(const FusionScope &scope);

/// If all users of an image are 1x1 convolutions with strides, makes the convolution that produces
/// it compute only the positions that they read (attribute `sampling`), and sets their strides to
/// 1. That their filters are 1x1 follows from `_output_shapes`; their kernels check it
/// (`is_pointwise`).
void sampleImages(const FusionScope &scope);
bool mayBeSampled(Node node);

/// Fuses decomposed activations and layer normalizations, if nothing else uses the values in
/// between. Results are the same, except for rounding. Bypasses IdentityN nodes that aren't kept.
/// Calls moveReshapes and fuseScales at the end.
void fuseForms(const FusionScope &scope);

/// Moves a bias, and an activation after it, before a Reshape of a matrix product that is known to
/// preserve the columns.
void moveReshapes(const FusionScope &scope);

/// Returns whether a form may end at this node.
bool mayBeForm(Node node);

/// Returns whether a fusion may start at this node. A body without such nodes can't be fused.
bool mayBeFused(Node node);

/// Runs all fusions on a subgraph for a plan, whose images have channels last afterwards.
void fuseKernels(PrunedSubgraph &part, const ModuleIndex &index);

} // namespace treadle::tfg
