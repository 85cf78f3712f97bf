// What all fusions share: values looked at, and several nodes replaced by one.
#pragma once

#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace treadle::tfg {

/// Nodes that a fused node stands for, its root among them.
using NodeSet = llvm::SmallSetVector<mlir::Operation *, 8>;

class Fuser {
public:
  /// TensorFlow's ops are for nodes of one device, and the nodes that a graph's fused node stands
  /// for stay, unused, for their names.
  enum Target : uint8_t { Kernels, TensorFlow };

  explicit Fuser(const FusionScope &scope, Target target = Kernels)
      : scope(scope), target(target) {}
  ~Fuser() { eraseTaken(); }
  Fuser(const Fuser &) = delete;
  Fuser &operator=(const Fuser &) = delete;

  /// The node that gives `value` as its first result; null where it comes from outside (an
  /// argument, a feed).
  Node producer(mlir::Value value) const;
  /// The value behind any Identity that waits for nothing.
  mlir::Value source(mlir::Value value) const;
  /// The elements of a constant of float32; empty for any other value.
  Tensor constant(mlir::Value value) const;
  /// The one element of a constant of at most `maxRank` dimensions.
  std::optional<double> scalar(mlir::Value value, int maxRank = 1) const;

  /// Whether the body had a node of this op, or of a later version of it, when first asked.
  bool hasOp(llvm::StringRef op) const;

  /// Whether `node` can become one with `root` and its name be lost: nobody asks for it or feeds
  /// it, and it is in the same place, calls no function, and is between the same exchanges.
  bool canJoin(Node root, Node node) const;
  /// The only one who sees `node`, if it does by its first result; else null.
  static Node onlyUser(Node node);
  /// The same, if both can join `root`.
  /// TensorFlow's fused nodes have the last one's name, which may be asked for.
  Node follower(Node root, Node node) const;
  /// Whether the nodes can become one: but for the results of the root and of `visible`, nobody
  /// else uses them.
  bool canFuse(Node root, const NodeSet &nodes, Node visible = {}) const;

  /// A Const beside `root`. It waits for what the constants that it is made of wait for; one that
  /// is made of none, for `beside` where frames and branches matter.
  mlir::Value makeConstant(Node root, llvm::StringRef suffix, const Tensor &value,
                           mlir::ValueRange madeOf, mlir::Value beside = {});
  /// A fresh name in the body.
  std::string uniqueName(Node root, llvm::StringRef suffix);

  /// What `nodes` wait for, beside one another.
  llvm::SmallVector<mlir::Value> controlOf(const NodeSet &nodes) const;

  /// Puts `fused` in the place of the nodes, of which others see the root's first result, now the
  /// fused node's result `result`. The root lends it its name, and the attributes that say
  /// something about a node; or `named` does, its name alone. The other nodes go when the fuser
  /// does, or stay, unused.
  void replace(Node root, Node fused, const NodeSet &nodes, Node named = {}, unsigned result = 0);
  /// Whether another node stands in for it.
  bool isTaken(Node node) const { return taken.contains(node.getOperation()); }

  const FusionScope &scope;
  const Target target;

private:
  bool isAlike(Node root, Node node) const;
  void eraseTaken();

  std::optional<NameScope> names;
  std::optional<bool> hasV1ControlFlow;
  mutable llvm::StringSet<> ops;
  llvm::SetVector<mlir::Operation *> taken;
};

/// The nodes of a body that hold for `test`.
template <typename Test> llvm::SmallVector<Node> nodesOf(mlir::Block &body, Test test) {
  llvm::SmallVector<Node> found;
  for (mlir::Operation &op : body)
    if (Node::isNode(&op) && test(Node(&op)))
      found.emplace_back(&op);
  return found;
}

bool isFloat32(mlir::Value value);
/// The type of a value with a rank, null otherwise.
mlir::RankedTensorType rankedTypeOf(mlir::Value value);
/// The value of an attribute that is a bool, false without one.
bool flag(Node node, llvm::StringRef key);
/// Where a node's channels are; "NHWC" without the attribute.
llvm::StringRef formatOf(Node node);
/// A one-dimensional tensor.
Tensor vectorOf(llvm::ArrayRef<int32_t> values);

} // namespace treadle::tfg
