#include "treadle/gradients/BodyGradient.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace treadle::tfg {

Value lookThroughIdentities(Value value) {
  for (Node node = definingNode(value); node && node.opType() == "Identity";
       node = definingNode(value))
    value = node->getOperand(0);
  return value;
}

/// Whether the node may be duplicated into another function.
static bool isConstant(Node node) {
  return node.opType() == "Const" || node.opType() == "VarHandleOp";
}

/// Whether to run the node forward and pass its small result backward, instead of passing its
/// inputs.
static bool shouldPassResult(Node node) {
  return llvm::StringSwitch<bool>(node.opType())
      .Cases({"Const", "Shape", "ShapeN", "Size", "Rank", "VariableShape"}, true)
      .Case("BroadcastGradientArgs", true)
      .Default(false);
}

BodyGradient::BodyGradient(Backpropagation &b, FuncOp original, ValueRange outer)
    : function(b.library.copyOf(original, (original.getName() + "_forward").str())),
      backpropagation(function.getEntry(), b.library, b.dtypes),
      dxs(original.getNumDataArguments()), numArguments(original.getNumDataArguments()) {
  for (auto [i, value] : llvm::enumerate(outer))
    if (isa<tf_type::ResourceType>(elementOf(value)))
      backpropagation.emitter.setVariableElement(function.getDataArgument(i),
                                                 b.emitter.gradientElement(value));
}

Expected<void> BodyGradient::differentiate(const llvm::BitVector &arguments, TypeRange dyTypes) {
  Block &body = function.getEntry();
  Values xs, ys, flowing;
  for (unsigned i : arguments.set_bits())
    xs.push_back(function.getDataArgument(i));
  for (auto [result, type] : llvm::zip(function.getReturn().getData(), dyTypes)) {
    dys.push_back(nullptr);
    if (!type)
      continue;
    dys.back() = body.addArgument(type, function.getLoc());
    body.addArgument(tf_type::ControlType::get(function.getContext()), function.getLoc());
    ys.push_back(result);
    flowing.push_back(dys.back());
  }
  Values gradients = TREADLE_TRY(backpropagation.run({ys, flowing, xs, {}}));
  for (auto [i, gradient] : llvm::zip(arguments.set_bits(), gradients))
    dxs[i] = gradient;
  return {};
}

void BodyGradient::fillZeros(const llvm::BitVector &arguments) {
  Emitter &e = backpropagation.emitter;
  for (unsigned i : arguments.set_bits()) {
    if (dxs[i])
      continue;
    e.setOrigin(function.getDataArgumentName(i));
    Value x = function.getDataArgument(i);
    Type element = elementOf(x);
    // For a tensor, only its shape is used.
    bool isNumber = !isa<tf_type::ResourceType, tf_type::VariantType>(element);
    dxs[i] = isNumber ? e.fill(e.shapeOf(x), e.number(0, element)) : e.zerosLike(x);
  }
}

void BodyGradient::capture(Value value) {
  if (backwardValues.contains(value) || known.contains(value))
    return;
  Value source = lookThroughIdentities(value);
  known[value] = source;
  if (Node node = definingNode(source); node && isConstant(node))
    constants.insert(node.getOperation());
  else
    captured.insert(source);
}

void BodyGradient::split() {
  backpropagation.emitter.eraseUnused(dxs);
  for (Value dy : dys)
    if (dy)
      backwardValues.insert(dy);
  for (Operation *op : backpropagation.emitter.nodes()) {
    Node node(op);
    auto isBackward = [&](Value input) { return backwardValues.contains(input); };
    if (shouldPassResult(node) && llvm::none_of(node.data(), isBackward)) {
      emittedForward.push_back(op);
      continue;
    }
    backward.push_back(node);
    backwardValues.insert_range(node.results());
  }
  for (Node node : backward)
    for (Value input : node.data())
      capture(input);
  for (Value dx : dxs)
    if (dx)
      capture(dx);
}

void BodyGradient::cloneBackward(Outline &outline) {
  for (Operation *constant : constants)
    outline.clone(Node(constant));
  for (auto [value, source] : known)
    outline.map(value, outline.lookup(source));
  for (Node node : backward)
    outline.clone(node);
}

void BodyGradient::removeBackward() {
  for (Node node : llvm::reverse(backward))
    node->erase();
  llvm::SmallPtrSet<Operation *, 16> needed;
  for (Value value : captured)
    needed.insert(value.getDefiningOp());
  for (Operation *op : llvm::reverse(emittedForward))
    if (op->use_empty() && !needed.contains(op))
      op->erase();
  Block &body = function.getEntry();
  body.eraseArguments(2 * numArguments, body.getNumArguments() - 2 * numArguments);
}

Value BodyGradient::gradient(const Outline &outline, unsigned argument) const {
  return outline.lookup(dxs[argument]);
}

} // namespace treadle::tfg
