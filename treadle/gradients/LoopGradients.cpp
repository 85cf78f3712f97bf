// Gradients of While loops.
#include "treadle/gradients/BodyGradient.h"
#include "treadle/gradients/FunctionGradients.h"
#include "treadle/gradients/LoopVariation.h"
#include "treadle/gradients/NodeReplacement.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/rewriting/LoopVariables.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The forward loop counts its iterations in one more variable, and pushes the values that the
/// backward loop needs from each iteration to lists, which are variables too. The variables of the
/// backward loop:
///
///   iteration counter, iterations of the forward loop, gradients, lists, loop-invariant values
class LoopGradients {
public:
  LoopGradients(Backpropagation &b, const DifferentiatedNode &f, const FunctionalNode &functional)
      : b(b), e(b.emitter), f(f), loop(functional.node), condition(functional.functions[0]),
        original(functional.functions[1]), body(b, original, loop.data()) {}

  Expected<Values> run();

private:
  SmallVector<Type> dyTypes();
  void assignCaptures();
  void makeBackwardBody();
  void makeBackwardCondition();
  void makeForward();
  Value popped(Outline &outline, Value list, Type element, Value &rest);
  Values emitBackward();
  Type variant() { return tf_type::VariantType::get(original.getContext()); }
  Type i32() { return e.builder.getI32Type(); }

  Backpropagation &b;
  Emitter &e;
  const DifferentiatedNode &f;
  Node loop;
  FuncOp condition, original;
  BodyGradient body;
  llvm::BitVector active;         // variables whose gradients the backward loop carries
  SmallVector<unsigned> constant; // loop-invariant variables that it uses
  SmallVector<Value> pushed;      // values of the body that it needs
  SmallVector<Type> dxElements, pushedElements, constantTypes;
  FuncOp backwardBody, backwardCondition;
};

SmallVector<Type> LoopGradients::dyTypes() {
  SmallVector<Type> types(loop.numResults());
  for (unsigned i : active.set_bits()) {
    dxElements.push_back(e.gradientElement(loop->getOperand(i)));
    types[i] = UnrankedTensorType::get(dxElements.back());
  }
  return types;
}

void LoopGradients::assignCaptures() {
  ReturnOp returned = body.function.getReturn();
  for (Value value : body.captures()) {
    auto argument = dyn_cast<BlockArgument>(value);
    unsigned i = argument ? argument.getArgNumber() / 2 : 0;
    if (argument && lookThroughIdentities(returned.getData()[i]) == value)
      constant.push_back(i);
    else
      pushed.push_back(value);
  }
  for (Value value : pushed)
    pushedElements.push_back(elementOf(value));
  for (unsigned i : constant)
    constantTypes.push_back(body.function.getDataArgument(i).getType());
}

/// Pops the last tensor of a list; `rest` is the remaining list.
Value LoopGradients::popped(Outline &outline, Value list, Type element, Value &rest) {
  OpBuilder &builder = outline.atEnd();
  auto scalar = RankedTensorType::get({}, i32());
  auto any = DenseElementsAttr::get(scalar, builder.getI32IntegerAttr(-1));
  Node shape = NodeBuilder(builder, "Const")
                   .name(outline.uniqueName("any_shape"))
                   .attr("dtype", TypeAttr::get(i32()))
                   .attr("value", any)
                   .results(Type(scalar))
                   .build();
  Node pop = NodeBuilder(builder, "TensorListPopBack")
                 .name(outline.uniqueName("pop"))
                 .attr("element_dtype", TypeAttr::get(element))
                 .inputs({list, shape->getResult(0)})
                 .results({UnrankedTensorType::get(variant()), UnrankedTensorType::get(element)})
                 .build();
  rest = pop->getResult(0);
  return pop->getResult(1);
}

void LoopGradients::makeBackwardBody() {
  std::string name = b.library.unique((original.getName() + "_backward").str());
  Outline outline(b.library.module(), name, loop->getLoc());
  auto scalar = RankedTensorType::get({}, i32());
  SmallVector<Value> results;
  SmallVector<std::string> names = {"iteration", "iterations"};
  Value iteration = outline.addArgument(scalar, names[0]);
  Value iterations = outline.addArgument(scalar, names[1]);
  for (unsigned i : active.set_bits()) {
    names.push_back("dx");
    outline.map(body.dys[i], outline.addArgument(body.dys[i].getType(), "dy"));
  }
  SmallVector<Value> lists, rests(pushed.size());
  for (size_t i = 0; i < pushed.size(); ++i) {
    names.push_back("kept");
    lists.push_back(outline.addArgument(UnrankedTensorType::get(variant()), "kept"));
  }
  SmallVector<Value> same;
  for (unsigned i : constant) {
    Value argument = body.function.getDataArgument(i);
    names.push_back(nameOf(argument).str());
    same.push_back(outline.addArgument(argument.getType(), names.back()));
    outline.map(argument, same.back());
  }
  for (auto [i, value] : llvm::enumerate(pushed))
    outline.map(value, popped(outline, lists[i], pushedElements[i], rests[i]));
  body.cloneBackward(outline);

  OpBuilder &builder = outline.atEnd();
  Node one = NodeBuilder(builder, "Const")
                 .name(outline.uniqueName("one"))
                 .attr("dtype", TypeAttr::get(i32()))
                 .attr("value", DenseElementsAttr::get(scalar, builder.getI32IntegerAttr(1)))
                 .results(Type(scalar))
                 .build();
  Node next = NodeBuilder(builder, "AddV2")
                  .name(outline.uniqueName("next_iteration"))
                  .attr("T", TypeAttr::get(i32()))
                  .inputs({iteration, one->getResult(0)})
                  .results(Type(scalar))
                  .build();
  results = {next->getResult(0), iterations};
  for (unsigned i : active.set_bits())
    results.push_back(body.gradient(outline, i));
  llvm::append_range(results, rests);
  llvm::append_range(results, same);
  backwardBody = outline.finish(results, names, ValueRange());
  body.removeBackward();
  b.library.complete(backwardBody);
}

void LoopGradients::makeBackwardCondition() {
  std::string name = b.library.unique((original.getName() + "_backward_cond").str());
  Outline outline(b.library.module(), name, loop->getLoc());
  for (unsigned i = 0; i < backwardBody.getNumDataArguments(); ++i) {
    Value argument = backwardBody.getDataArgument(i);
    outline.addArgument(argument.getType(), backwardBody.getDataArgumentName(i));
  }
  Block &block = *outline.atEnd().getInsertionBlock();
  Node less = NodeBuilder(outline.atEnd(), "Less")
                  .name(outline.uniqueName("less"))
                  .attr("T", TypeAttr::get(i32()))
                  .inputs({block.getArgument(0), block.getArgument(2)})
                  .results(Type(RankedTensorType::get({}, e.builder.getI1Type())))
                  .build();
  backwardCondition = outline.finish(less->getResult(0), {"less"}, ValueRange());
  b.library.complete(backwardCondition);
}

/// Adds the counter and the lists to the functions of the forward loop and to the loop.
void LoopGradients::makeForward() {
  FuncOp test = b.library.copyOf(condition, (condition.getName() + "_forward").str());
  Emitter &inner = body.backpropagation.emitter;
  NameScope testNames(test.getEntry()), bodyNames(body.function.getEntry());
  auto addVariable = [&](StringRef name, Type type) {
    appendArgument(test, testNames.unique(name), type);
    return appendArgument(body.function, bodyNames.unique(name), type);
  };
  inner.setOrigin("iterations");
  Value counter = addVariable("iterations", RankedTensorType::get({}, i32()));
  appendResult(body.function, "iterations", inner.same("AddV2", {counter, inner.integer(1)}));
  for (auto [i, value, element] : llvm::enumerate(pushed, pushedElements)) {
    Value list = addVariable("kept", UnrankedTensorType::get(variant()));
    inner.setOrigin(nameOf(value));
    Node push = inner.emit("TensorListPushBack", {list, value}, variant(),
                           inner.attr("element_dtype", element));
    appendResult(body.function, "kept_" + std::to_string(i), push->getResult(0));
  }
  b.library.complete(test);
  b.library.complete(body.function);

  SmallVector<Value> values = {e.integer(0)};
  for (Type element : pushedElements)
    values.push_back(e.emitForward("EmptyTensorList", {e.integer(-1), e.integer(-1)}, variant(),
                                   {e.attr("element_dtype", element), e.attr("shape_type", i32())})
                         ->getResult(0));
  SmallVector<Value> old(loop.results());
  loop = withVariables(loop, values);
  loop->setDiscardableAttr("cond", functionName(test));
  loop->setDiscardableAttr("body", functionName(body.function));
  b.recordReplacement(old, loop);
}

Values LoopGradients::emitBackward() {
  unsigned numVariables = body.dys.size();
  SmallVector<Value> inputs = {e.integer(0), loop->getResult(numVariables)};
  for (unsigned i : active.set_bits()) {
    Value dy = f.gradients[i];
    bool isHandle = isa<tf_type::ResourceType>(elementOf(loop->getResult(i)));
    if (!dy) // only the operand determines the variable's dtype
      dy = e.zerosLike(isHandle ? loop->getOperand(i) : loop->getResult(i));
    inputs.push_back(dy);
  }
  for (size_t i = 0; i < pushed.size(); ++i)
    inputs.push_back(loop->getResult(numVariables + 1 + i));
  for (unsigned i : constant)
    inputs.push_back(loop->getOperand(i));
  SmallVector<Type> elements;
  for (Value input : inputs)
    elements.push_back(elementOf(input));
  SmallVector<NamedAttribute> attrs = e.attrsOf(loop, {"parallel_iterations"});
  attrs.push_back(e.attr("T", dtypeArrayAttr(e, elements)));
  attrs.push_back(e.attr("cond", functionName(backwardCondition)));
  attrs.push_back(e.attr("body", functionName(backwardBody)));
  bool isPure = b.library.isPure(backwardBody);
  Node backward = e.emit(functionalOp(OpKind::While, !isPure), inputs, elements, attrs);
  Values gradients(numVariables);
  for (auto [k, i] : llvm::enumerate(active.set_bits()))
    gradients[i] = backward->getResult(2 + k);
  return gradients;
}

Expected<Values> LoopGradients::run() {
  llvm::BitVector varying(loop.numData()), asked(loop.numData());
  for (unsigned i = 0; i < loop.numData(); ++i) {
    varying[i] = b.isVarying(loop->getOperand(i));
    asked[i] = bool(f.gradients[i]);
  }
  active = activeVariables(b, original, varying, asked);
  if (active.none()) {
    body.function->erase();
    return Values();
  }
  if (Expected<void> ok = body.differentiate(active, dyTypes()); !ok)
    return withFunctionContext(original, std::move(ok.error()));
  body.fillZeros(active);
  body.split();
  assignCaptures();
  makeBackwardBody();
  makeBackwardCondition();
  makeForward();
  return emitBackward();
}

} // namespace

Expected<Values> loopGradients(Backpropagation &b, const DifferentiatedNode &f,
                               const FunctionalNode &functional) {
  return LoopGradients(b, f, functional).run();
}

} // namespace treadle::tfg
