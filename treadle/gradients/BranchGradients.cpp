// Gradients of calls and conditionals.
#include "treadle/gradients/BodyGradient.h"
#include "treadle/gradients/FunctionGradients.h"
#include "treadle/gradients/NodeReplacement.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/LoopVariables.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The slots through which a node returns values of its branches that the gradients need:
/// additional results that the branches share, each of one dtype.
struct ResultSlots {
  SmallVector<Type> elements;
  /// By branch: the slot of each value.
  SmallVector<llvm::MapVector<Value, unsigned>> used;

  unsigned take(unsigned branch, Value value) {
    llvm::BitVector taken(elements.size());
    for (auto [other, slot] : used[branch])
      taken.set(slot);
    unsigned slot = 0;
    while (slot < elements.size() && (taken[slot] || elements[slot] != elementOf(value)))
      ++slot;
    if (slot == elements.size())
      elements.push_back(elementOf(value));
    return used[branch][value] = slot;
  }
};

class BranchGradients {
public:
  BranchGradients(Backpropagation &b, const DifferentiatedNode &f, const FunctionalNode &functional)
      : b(b), e(b.emitter), f(f), functional(functional), node(functional.node),
        arguments(functional.arguments().begin(), functional.arguments().end()),
        varying(arguments.size()), passed(arguments.size()) {}

  Expected<Values> run();

private:
  Expected<void> differentiate();
  void assignCaptures();
  void returnSlots(unsigned branch);
  FuncOp backwardFunction(unsigned branch);
  SmallVector<NamedAttribute> functionAttrs(ArrayRef<FuncOp> functions);
  void replaceNode();
  Values emitBackward();

  Backpropagation &b;
  Emitter &e;
  const DifferentiatedNode &f;
  const FunctionalNode &functional;
  Node node;
  SmallVector<Value> arguments;
  llvm::BitVector varying; // arguments that get gradients
  llvm::BitVector passed;  // arguments that the backward functions use
  SmallVector<Type> dxElements;
  std::vector<std::unique_ptr<BodyGradient>> bodies;
  SmallVector<FuncOp> backward;
  ResultSlots slots;
};

Expected<void> BranchGradients::differentiate() {
  SmallVector<Type> dyTypes;
  for (Value dy : f.gradients)
    dyTypes.push_back(dy ? Type(UnrankedTensorType::get(elementOf(dy))) : Type());
  llvm::BitVector wanted(arguments.size()), found(arguments.size());
  for (auto [i, argument] : llvm::enumerate(arguments))
    wanted[i] = b.isVarying(argument);
  for (FuncOp branch : functional.functions) {
    bodies.push_back(std::make_unique<BodyGradient>(b, branch, arguments));
    if (Expected<void> ok = bodies.back()->differentiate(wanted, dyTypes); !ok)
      return withFunctionContext(branch, std::move(ok.error()));
    for (unsigned i : wanted.set_bits())
      if (bodies.back()->dxs[i])
        found.set(i);
  }
  varying = found;
  for (auto &body : bodies) {
    body->fillZeros(varying);
    body->split();
  }
  for (unsigned i : varying.set_bits())
    dxElements.push_back(elementOf(bodies[0]->dxs[i]));
  return {};
}

/// Arguments are available outside of the branch; other values need slots.
void BranchGradients::assignCaptures() {
  slots.used.resize(bodies.size());
  for (auto [branch, body] : llvm::enumerate(bodies))
    for (Value value : body->captures())
      if (auto argument = dyn_cast<BlockArgument>(value))
        passed.set(argument.getArgNumber() / 2);
      else
        slots.take(branch, value);
}

FuncOp BranchGradients::backwardFunction(unsigned branch) {
  BodyGradient &body = *bodies[branch];
  FuncOp original = functional.functions[branch];
  Outline outline(b.library.module(), b.library.unique((original.getName() + "_backward").str()),
                  node->getLoc());
  for (auto [i, dy] : llvm::enumerate(f.gradients))
    if (dy)
      outline.map(body.dys[i], outline.addArgument(body.dys[i].getType(), "dy"));
  for (unsigned i : passed.set_bits()) {
    Value argument = body.function.getDataArgument(i);
    outline.map(argument, outline.addArgument(argument.getType(), nameOf(argument)));
  }
  SmallVector<Value> kept;
  for (Type element : slots.elements)
    kept.push_back(outline.addArgument(UnrankedTensorType::get(element), "kept"));
  for (auto [value, slot] : slots.used[branch])
    outline.map(value, kept[slot]);
  body.cloneBackward(outline);
  SmallVector<Value> results;
  for (unsigned i : varying.set_bits())
    results.push_back(body.gradient(outline, i));
  FuncOp function =
      outline.finish(results, SmallVector<std::string>(results.size(), "dx"), ValueRange());
  body.removeBackward();
  b.library.complete(function);
  return function;
}

/// Adds the slots to the results of the forward function; a slot that the branch doesn't use gets a
/// placeholder value.
void BranchGradients::returnSlots(unsigned branch) {
  BodyGradient &body = *bodies[branch];
  SmallVector<Value> values(slots.elements.size());
  for (auto [value, slot] : slots.used[branch])
    values[slot] = value;
  Emitter &inner = body.backpropagation.emitter;
  inner.setOrigin("unused");
  for (auto [slot, value] : llvm::enumerate(values))
    appendResult(body.function, "kept_" + std::to_string(slot),
                 value ? value : placeholderValue(inner, slots.elements[slot]));
  b.library.complete(body.function);
}

SmallVector<NamedAttribute> BranchGradients::functionAttrs(ArrayRef<FuncOp> functions) {
  SmallVector<Attribute> names;
  for (FuncOp function : functions)
    names.push_back(functionName(function));
  OpKind kind = opKind(node.opType());
  if (kind == OpKind::Case)
    return {e.attr("branches", Attribute(e.builder.getArrayAttr(names)))};
  if (kind == OpKind::If)
    return {e.attr("then_branch", names[0]), e.attr("else_branch", names[1])};
  return {e.attr("f", names[0])};
}

void BranchGradients::replaceNode() {
  SmallVector<FuncOp> forward;
  for (auto &body : bodies)
    forward.push_back(body->function);
  SmallVector<Value> old(node.results());
  bool isPlainCall = functional.kind == FunctionalKind::Call && !node.attr("f");
  StringRef op = node.opType();
  if (isPlainCall)
    op = functionalOp(OpKind::Call, forward[0].getIsStateful());
  node = withResults(node, op, slots.elements, functionAttrs(forward));
  b.recordReplacement(old, node);
}

Values BranchGradients::emitBackward() {
  bool isBranch = functional.kind == FunctionalKind::Branch;
  SmallVector<Value> inputs;
  if (isBranch)
    inputs.push_back(node->getOperand(0));
  for (Value dy : f.gradients)
    if (dy)
      inputs.push_back(dy);
  for (unsigned i : passed.set_bits())
    inputs.push_back(arguments[i]);
  llvm::append_range(inputs, node.results().take_back(slots.elements.size()));
  OpKind kind = isBranch ? opKind(node.opType()) : OpKind::Call;
  StringRef op = functionalOp(
      kind, !llvm::all_of(backward, [&](FuncOp function) { return b.library.isPure(function); }));
  SmallVector<NamedAttribute> attrs = functionAttrs(backward);
  attrs.push_back(e.attr("Tin", dtypeArrayAttr(e, ArrayRef(inputs).drop_front(isBranch))));
  attrs.push_back(e.attr("Tout", dtypeArrayAttr(e, dxElements)));
  if (kind == OpKind::If)
    attrs.push_back(e.attr("Tcond", elementOf(inputs[0])));
  Node gradient = e.emit(op, inputs, dxElements, attrs);
  Values all(node.numData());
  for (auto [i, result] : llvm::zip(varying.set_bits(), gradient.results()))
    all[functional.firstArgument + i] = result;
  return all;
}

Expected<Values> BranchGradients::run() {
  TREADLE_TRY(differentiate());
  if (varying.none()) {
    for (auto &body : bodies)
      body->function->erase();
    return Values();
  }
  assignCaptures();
  bool hasHandle = llvm::any_of(slots.elements, llvm::IsaPred<tf_type::ResourceType>);
  if (hasHandle && bodies.size() > 1)
    return Unexpected(unimplemented("its branches create resource handles that their gradients "
                                    "need; pass these handles in as inputs"));
  for (unsigned branch = 0; branch < bodies.size(); ++branch) {
    backward.push_back(backwardFunction(branch));
    returnSlots(branch);
  }
  replaceNode();
  return emitBackward();
}

} // namespace

Expected<Values> branchGradients(Backpropagation &b, const DifferentiatedNode &f,
                                 const FunctionalNode &functional) {
  return BranchGradients(b, f, functional).run();
}

} // namespace treadle::tfg
