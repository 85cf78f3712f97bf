// What the rewrites of tfg-remap share: values looked at, and several nodes replaced by one.
#pragma once

#include "treadle/lowering/Constants.h"
#include "treadle/transforms/fuse_kernels/ExchangeOrder.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace treadle::tfg {

/// Nodes that a fused node stands for, its root among them.
using NodeSet = llvm::SmallSetVector<mlir::Operation *, 8>;

class Remapper {
public:
  /// `kept`: nodes that stay, since runs ask for them; `withOneDnn`: also forms that TensorFlow
  /// runs only with oneDNN.
  Remapper(mlir::Block &body, Constants &constants, const llvm::StringSet<> &kept,
           const ExchangeOrder &exchanges, bool withOneDnn);

  /// The node that gives `value` as its first result, past nodes that only pass it on where
  /// `value` is no result of interest; null where it comes from outside (an argument, a feed).
  Node producer(mlir::Value value) const;
  /// The value behind any Identity that waits for nothing.
  mlir::Value source(mlir::Value value) const;
  /// The elements of a constant of float32; empty for any other value.
  Tensor constant(mlir::Value value) const;
  /// The one element of a constant.
  std::optional<double> scalar(mlir::Value value) const;

  /// Whether the nodes can go: but for the root's, nobody else uses, feeds or fetches their
  /// results, and all are in one place and between the same exchanges.
  bool canFuse(Node root, const NodeSet &nodes) const;

  /// A Const beside `root`. It waits for what the constants that it is made of wait for; one that
  /// is made of none, for `beside` where frames and branches matter.
  mlir::Value makeConstant(Node root, llvm::StringRef suffix, const Tensor &value,
                           mlir::ValueRange madeOf, mlir::Value beside = {});

  /// Whether the first dimension of both values comes unchanged from one place.
  bool haveOneBatch(mlir::Value a, mlir::Value b);

  /// A fresh name in the body.
  std::string uniqueName(Node root, llvm::StringRef suffix);

  /// What `nodes` wait for, beside one another.
  llvm::SmallVector<mlir::Value> controlOf(const NodeSet &nodes) const;

  /// Puts `fused` in the place of the root: its first result, its control token, the attributes
  /// that say something about the node. The other nodes stay, unused.
  void replace(Node root, Node fused, const NodeSet &nodes);
  /// Whether another node stands in for it.
  bool isTaken(Node node) const { return taken.contains(node.getOperation()); }
  void eraseTaken();

  Constants &constants;
  const bool withOneDnn;

private:
  mlir::Block &body;
  const llvm::StringSet<> &kept;
  const ExchangeOrder &exchanges;
  std::optional<NameScope> names;
  std::optional<llvm::DenseMap<mlir::Value, unsigned>> batches; // by where they come from
  llvm::SetVector<mlir::Operation *> taken;                     // users before what they use
  bool hasV1ControlFlow = false;
};

/// One op or several that give gelu(x).
struct Gelu {
  mlir::Value x;
  bool isExact;
};
/// Nodes are added to `nodes` where it matches.
std::optional<Gelu> matchGelu(const Remapper &remapper, Node root, NodeSet &nodes);

/// Several ops that give what one of ours does.
struct ActivationForm {
  mlir::Value x;
  llvm::StringRef op;
};
/// Nodes are added to `nodes` where it matches; the root is a product or a quotient.
std::optional<ActivationForm> matchActivation(const Remapper &remapper, Node root, NodeSet &nodes);

/// The parts of (x - mean) / sqrt(variance + epsilon) * scale + offset. `scale` and `offset` are
/// null where there are none.
struct LayerNorm {
  mlir::Value x, mean, scale, offset;
  float epsilon = 0;
  int64_t axis = 0; // the dimension over which the means are
};
/// Nodes are added to `nodes` where it matches.
std::optional<LayerNorm> matchLayerNorm(const Remapper &remapper, Node root, NodeSet &nodes);

/// Each looks at what ends in `root` and gives the node that stands in for it, or null. `root` and
/// what it stood for may be gone then.
Node fuseContraction(Remapper &remapper, Node root);
Node fuseLayerNorm(Remapper &remapper, Node root);
Node fuseBatchNorm(Remapper &remapper, Node root);

bool isFloat32(mlir::Value value);
/// The type of a value with a rank, null otherwise.
mlir::RankedTensorType rankedTypeOf(mlir::Value value);
/// The last dimension, or ShapedType::kDynamic.
int64_t lastDim(mlir::Value value);

} // namespace treadle::tfg
