#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "treadle/ops/OpTable.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Returns whether the dtype is f32, f64, a 32- or 64-bit integer, or boolean.
bool isNativeType(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return true; // a token
  Type element = tensor.getElementType();
  return element.isF32() || element.isF64() || element.isInteger(32) || element.isInteger(64) ||
         element.isSignlessInteger(1);
}

bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !isa<TensorType>(type) || (tensor && tensor.getRank() == 0);
}

/// Returns whether the op rounds elements to integers; the kernel handles values out of range.
bool isRounding(Node node, const OpDef &op) {
  return op.elementwise() == "cast" &&
         isa<FloatType>(cast<TensorType>(node->getOperand(0).getType()).getElementType()) &&
         cast<TensorType>(node->getResult(0).getType()).getElementType().isIntOrIndex();
}

/// Returns whether the node only moves elements of a small tensor.
bool isSmallMove(Node node, const OpDef &op) {
  return op.facts().movesElements && node.numResults() == 1 &&
         isCheapToMove(node->getResult(0).getType()) && llvm::all_of(node.data(), [](Value input) {
           return isCheapToMove(input.getType()) && isNativeType(input.getType());
         });
}

/// Returns whether `user` has all uses of `value`.
bool isOnlyUser(Value value, Operation *user) {
  return llvm::all_of(value.getUsers(), [&](Operation *other) { return other == user; });
}

/// Returns the node that computes the elements of a value, before nodes that only forward them.
Node sourceOf(Value value) {
  constexpr int longest = 8;
  for (int length = 0; length < longest; ++length) {
    Node node = definingNode(value);
    if (!node || opFacts(node.opType()).native != NativeForm::Passes || node.data().empty())
      return node;
    value = node.data()[0];
  }
  return {};
}

/// Returns whether the op of a node is compiled in one of these forms.
bool hasForm(Node node, std::initializer_list<NativeForm> forms) {
  return node && llvm::is_contained(forms, opFacts(node.opType()).native);
}

/// Returns whether a reduction can be fused with the node that computes its elements. A kernel
/// reduces a tensor in memory as fast as compiled code.
bool isFusedReduction(Node node) {
  auto data = node.data();
  Node axes = data.size() == 2 ? definingNode(data[1]) : Node();
  return axes && axes.opType() == "Const" &&
         hasForm(sourceOf(data[0]),
                 {NativeForm::Computes, NativeForm::Repeats, NativeForm::Reduces});
}

/// Returns whether all nodes that read the repeated elements are compiled, so that these need no
/// memory.
bool hasOnlyCompiledReaders(Node node) {
  return llvm::all_of(node->getResult(0).getUsers(), [](Operation *user) {
    return Node::isNode(user) &&
           hasForm(Node(user), {NativeForm::Computes, NativeForm::Repeats, NativeForm::Reduces});
  });
}

/// Returns the form of a node whose op has `form`: that depends on its neighbours.
NativeForm formAmongOthers(Node node, NativeForm form) {
  if (form == NativeForm::Reduces)
    return isFusedReduction(node) ? NativeForm::Computes : NativeForm::None;
  if (form == NativeForm::Repeats)
    return hasOnlyCompiledReaders(node) ? NativeForm::Passes : NativeForm::None;
  return form;
}

bool isLarge(Type type) {
  constexpr int64_t least = 16'384;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() >= least;
}

} // namespace

bool isCheapToMove(Type type) {
  constexpr int64_t most = 4096;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() <= most;
}

bool computesElements(StringRef op) {
  const OpDef *def = lookupOp(op);
  return def && def->facts().native == NativeForm::Computes;
}

NativeForm nativeForm(Node node) {
  const OpDef *op = lookupOp(node.opType());
  if (op && op->facts().native != NativeForm::Passes && isSmallMove(node, *op))
    return NativeForm::Passes;
  if (!op || op->facts().native == NativeForm::None || op->kind() == OpKind::HigherOrder ||
      node->getNumRegions() || node.numResults() != 1 ||
      !llvm::all_of(node->getOperandTypes(), isNativeType) ||
      !llvm::all_of(node->getResultTypes(), isNativeType))
    return NativeForm::None;
  bool areScalars =
      llvm::all_of(node->getOperandTypes(), isScalar) && isScalar(node->getResult(0).getType());
  if (!areScalars && (op->facts().isNativeForScalars || isRounding(node, *op)))
    return NativeForm::None;
  if (auto format = node.attr<StringAttr>("data_format"); format && format.getValue() != "NHWC")
    return NativeForm::None;
  return formAmongOthers(node, op->facts().native);
}

bool StraightWork::add(Node node) {
  const OpFacts &facts = opFacts(node.opType());
  if (nativeForm(node) != NativeForm::Computes &&
      (facts.native == NativeForm::Passes || !isSmallWork(node)))
    return isEnough();
  ++computing;
  hasLarge |= llvm::any_of(node->getResultTypes(), isLarge) ||
              llvm::any_of(node->getOperandTypes(), isLarge);
  hasCostly |= facts.isCostly && isLarge(node->getResult(0).getType());
  return isEnough();
}

bool isSmallWork(Node node) {
  constexpr int64_t maxLinear = 64 << 10, maxOther = 4 << 10; // elements
  const OpDef *op = lookupOp(node.opType());
  if (!op || node->getNumRegions())
    return false;
  const bool isLinear = op->facts().movesElements || !op->reduction().empty();
  const int64_t most = isLinear ? maxLinear : maxOther;
  auto isSmall = [&](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    if (!tensor)
      return true; // a token
    Type element = tensor.getElementType();
    return (element.isIntOrFloat() || isa<ComplexType>(element)) && tensor.hasStaticShape() &&
           tensor.getNumElements() <= most;
  };
  return llvm::all_of(node->getOperandTypes(), isSmall) &&
         llvm::all_of(node->getResultTypes(), isSmall);
}

bool isInEpilogue(Node node) {
  auto isStep = [](Node node) { return fusionRole(node.opType()) > FusionRole::Contraction; };
  // A chain ends at an activation. Longer chains are left to kernels entirely.
  constexpr int longest = 8;
  for (int length = 0; length < longest; ++length) {
    if (!isStep(node))
      return false;
    Node before;
    for (Value input : node.data()) {
      Node from = definingNode(input);
      if (from && isOnlyUser(input, node.getOperation()) &&
          fusionRole(from.opType()) != FusionRole::None)
        before = from;
      if (before && fusionRole(before.opType()) == FusionRole::Contraction)
        return !isSmallWork(before);
    }
    if (!before)
      return false;
    node = before;
  }
  return false;
}

} // namespace treadle::tfg
