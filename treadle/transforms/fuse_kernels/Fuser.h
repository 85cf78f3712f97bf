// The framework of all fusions: inspects values, and replaces several nodes with one.
#pragma once

#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "llvm/ADT/SetVector.h"

#include <optional>

namespace treadle::tfg {

/// The nodes that a fused node replaces, including the root.
using NodeSet = llvm::SmallSetVector<mlir::Operation *, 8>;

class Fuser {
public:
  /// With TensorFlow as the target, nodes must be on one device, and the fused nodes of a graph
  /// stay, unused, for their names.
  enum Target : uint8_t { Kernels, TensorFlow };

  explicit Fuser(const FusionScope &scope, Target target = Kernels)
      : scope(scope), target(target) {}
  ~Fuser() { eraseTaken(); }
  Fuser(const Fuser &) = delete;
  Fuser &operator=(const Fuser &) = delete;

  /// Returns the node whose first result is `value`; null for arguments and feeds.
  Node producer(mlir::Value value) const;
  /// Returns the value before any Identity without control inputs.
  mlir::Value source(mlir::Value value) const;
  /// Returns the elements of a float32 constant; empty for any other value.
  Tensor constant(mlir::Value value) const;
  /// Returns the only element of a constant with at most `maxRank` dimensions.
  std::optional<double> scalar(mlir::Value value, int maxRank = 1) const;

  /// Returns whether the body had a node of this op, or of a later version of it, at the first
  /// call.
  bool hasOp(llvm::StringRef op) const;

  /// Returns whether `node` can be fused into `root`: it isn't fed or kept by name, calls no
  /// function, and has the same device and the same surrounding communication ops as `root`.
  bool canFuseInto(Node root, Node node) const;
  /// Returns the only user of `node` if it uses the first result; else null.
  static Node onlyUser(Node node);
  /// Returns the same if both nodes can be fused with `root`. TensorFlow's fused nodes have the
  /// name of the last node, so that it may be fetched.
  Node follower(Node root, Node node) const;
  /// Returns whether the nodes can be fused: nothing else uses them, except results of the root and
  /// of `visible`.
  bool canFuse(Node root, const NodeSet &nodes, Node visible = {}) const;

  /// Creates a Const next to `root`. It has the control inputs of the constants `madeOf`; if there
  /// are none, it waits for `beside` if frames and branches matter.
  mlir::Value makeConstant(Node root, llvm::StringRef suffix, const Tensor &value,
                           mlir::ValueRange madeOf, mlir::Value beside = {});
  /// Returns an unused name in the body.
  std::string uniqueName(Node root, llvm::StringRef suffix);

  /// Returns the control inputs of `nodes` from outside the set.
  llvm::SmallVector<mlir::Value> controlOf(const NodeSet &nodes) const;

  /// Replaces the nodes with `fused`. Uses of the root's first result become uses of the fused
  /// node's result `result`. The fused node gets the root's name and its attributes that describe a
  /// node; or, with `named`, only the name of that. The other nodes are erased by the destructor,
  /// or stay unused (see Target).
  void replace(Node root, Node fused, const NodeSet &nodes, Node named = {}, unsigned result = 0);
  /// Returns whether the node was replaced by a fused node.
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

/// Returns the nodes of a body that satisfy `test`.
template <typename Test> llvm::SmallVector<Node> nodesOf(mlir::Block &body, Test test) {
  llvm::SmallVector<Node> found;
  for (mlir::Operation &op : body)
    if (Node::isNode(&op) && test(Node(&op)))
      found.emplace_back(&op);
  return found;
}

bool isFloat32(mlir::Value value);
/// Returns the ranked type of a value; null if the rank is unknown.
mlir::RankedTensorType rankedTypeOf(mlir::Value value);
/// Returns the value of a boolean attribute; false if it is missing.
bool flag(Node node, llvm::StringRef key);
/// Returns the data format of a node; "NHWC" if the attribute is missing.
llvm::StringRef formatOf(Node node);
/// Creates a vector.
Tensor vectorOf(llvm::ArrayRef<int32_t> values);

} // namespace treadle::tfg
