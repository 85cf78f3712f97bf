// Groups of nodes that one of our kernels computes in one pass over memory. Unlike those of
// tfg-remap they need no shapes, and TensorFlow knows few of them. The nodes of a group are between
// the same exchanges; nodes that only lay out data otherwise, which a group saves, may be
// elsewhere.
#pragma once

#include "treadle/lowering/Constants.h"
#include "treadle/lowering/NeededPart.h"
#include "treadle/transforms/fuse_kernels/ExchangeOrder.h"

namespace treadle::tfg {

/// What fusing has to know of a body.
struct FusionScope {
  mlir::Block &body;
  llvm::function_ref<bool(llvm::StringRef)> isFunction; // whether an op of this name calls one
  const llvm::StringSet<> &kept;                        // nodes that must not become part of others
  Constants &constants;
  const ExchangeOrder &exchanges;

  bool isKept(Node node) const { return !kept.empty() && kept.contains(node.name()); }
  /// The node of this op that gives `value` as its first result; else null.
  Node producer(mlir::Value value, llvm::StringRef opType) const;
  /// What the graph says of a value's shape, which may be wrong where it is an attribute's word.
  std::optional<llvm::SmallVector<int64_t>> declaredDims(mlir::Value value) const;
};

/// Calls `visit` for the body of the graph, of which the nodes `keep` are kept, and of each
/// function.
void forEachFusionScope(mlir::ModuleOp module, llvm::ArrayRef<std::string> keep,
                        Constants &constants, llvm::function_ref<void(const FusionScope &)> visit);
/// The same; nodes that are kept may be fed as well.
void forEachFusionScope(mlir::ModuleOp module, llvm::ArrayRef<std::string> keep,
                        llvm::function_ref<void(const FusionScope &)> visit);

/// Makes one node of a convolution or a matrix product and of what happens to its result, where
/// nobody else sees what is in between: a bias or a batch normalisation (for inference), products
/// and sums, an activation. A convolution reads a filter as it lies before a Transpose, and writes
/// its gradient as it lies after one. The values are those of the nodes apart, but for the rounding
/// of factors and offsets that are applied as one.
void fuseContractions(const FusionScope &scope);

/// Whether a node is a batch normalisation of floats for inference, with its channels where
/// `format` says and no result but the first used.
bool isNormalisation(Node node, llvm::StringRef format = "NHWC");

/// Puts a node "Scale", which gives its input, before each such normalisation that follows no
/// contraction, and before x in x * f + (offset - mean * f). Only fusing may follow.
llvm::SmallVector<Node> beginScales(const FusionScope &scope);

/// Makes one node of each such normalisation and what follows it.
void fuseScales(const FusionScope &scope);

/// Makes one node of what a step of a long short-term memory does with the sums of its four gates:
/// a bias, the gates' split and functions, the next cell and output. Nobody else may see what is in
/// between. The values are those of the nodes apart.
void fuseLstmGates(const FusionScope &scope);

/// Makes one node of attention: the product of queries and keys, a factor, a mask that is added,
/// the softmax, and its product with values. Nobody else may see what is in between. The values are
/// those of the nodes apart, but for rounding.
void fuseAttention(const FusionScope &scope);

/// Where nobody sees an image but convolutions of points with a step, the convolution that makes it
/// computes the positions alone that they look at (attribute `sampling`), and they take all of
/// them. That their windows are points is what the graph says (`_output_shapes`); their kernels
/// make sure of it (`is_pointwise`).
void sampleImages(const FusionScope &scope);
bool mayBeSampled(Node node);

/// Makes one node of an activation or a layer normalisation that is spelled out, where nobody else
/// sees what is in between. The values are those of the nodes apart, but for rounding. Nodes
/// IdentityN that nobody asked for are passed by. Ends with moveReshapes and fuseScales.
void fuseForms(const FusionScope &scope);

/// Puts a bias, and an activation after it, before a Reshape of a matrix product that keeps the
/// columns, as far as the graph says how many there are.
void moveReshapes(const FusionScope &scope);

/// Whether a form may be found by this node.
bool mayBeForm(Node node);

/// Whether a group may be found by this node. Where a body has no such node, nothing is fused.
bool mayBeFused(Node node);

/// All of it for a plan, whose images have their channels last then.
void fuseKernels(NeededPart &part, const ModuleIndex &index);

} // namespace treadle::tfg
