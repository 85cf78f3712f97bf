#include "treadle/gradients/FunctionGradients.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"

using namespace mlir;

namespace treadle::tfg {

Error noGradient(Node node) {
  if (isV1ControlFlow(node))
    return unimplemented("no gradient is defined for nodes of v1 control flow; run "
                         "tfg-v1-to-functional first");
  if (node->getNumRegions() != 0)
    return unimplemented("no gradient is defined for nodes with regions; run "
                         "tfg-region-to-functional first");
  return unimplemented("no gradient is defined for op '", node.opType().str(),
                       "'; declare a gradient function for the function that contains it");
}

namespace {

/// Returns the functions that the node refers to, as far as the library has them.
FunctionMap namedFunctions(Node node, SymbolicGradients &library) {
  FunctionMap named;
  auto add = [&](StringRef name) {
    if (FuncOp function = library.lookup(name))
      named[name] = function;
  };
  forEachCallee(node, add);
  return named;
}

/// Calls `callee` with inputs of the node and the gradients of its results.
Values callOf(Emitter &e, const DifferentiatedNode &f, StringRef op, StringRef callee) {
  SmallVector<Value> inputs(f.node.data());
  for (auto [result, gradient] : llvm::zip(f.node.results(), f.gradients))
    inputs.push_back(gradient ? gradient : e.zerosLike(result));
  SmallVector<Attribute> given, wanted;
  SmallVector<Type> elements;
  for (Value input : inputs)
    given.push_back(dtypeAttr(input.getType()));
  for (Value input : f.node.data()) {
    elements.push_back(e.gradientElement(input));
    wanted.push_back(TypeAttr::get(elements.back()));
  }
  auto function =
      tf_type::FuncAttr::get(e.builder.getContext(), callee, e.builder.getDictionaryAttr({}));
  return Values(e.emit(op, inputs, elements,
                       {e.attr("Tin", Attribute(e.builder.getArrayAttr(given))),
                        e.attr("Tout", Attribute(e.builder.getArrayAttr(wanted))),
                        e.attr("f", Attribute(function))})
                    .results());
}

/// Calls the user-defined gradient of a function.
Expected<Values> declaredGradients(Backpropagation &b, const DifferentiatedNode &f, FuncOp callee) {
  FuncOp gradient = TREADLE_TRY(b.library.declaredFor(callee));
  StringRef op = functionalOp(OpKind::Call, gradient.getIsStateful());
  return callOf(b.emitter, f, op, gradient.getName());
}

Expected<Values> ofFunctional(Backpropagation &b, const DifferentiatedNode &f,
                              const FunctionalNode &functional) {
  bool isCall = functional.kind == FunctionalKind::Call;
  FuncOp first = functional.functions[0];
  if (isCall && first.getGradientAttr())
    return declaredGradients(b, f, first);
  SmallVector<std::string> entered;
  std::string recursive;
  for (FuncOp function : functional.functions)
    if (recursive.empty() && !llvm::is_contained(entered, function.getName()))
      (b.library.enter(function.getName()) ? entered.emplace_back() : recursive) =
          function.getName().str();
  Expected<Values> gradients = Values();
  if (recursive.empty())
    gradients = functional.kind == FunctionalKind::While ? loopGradients(b, f, functional)
                                                         : branchGradients(b, f, functional);
  else if (isCall && !first.getIsStateful())
    gradients = callOf(b.emitter, f, "SymbolicGradient", recursive);
  else
    gradients =
        Unexpected(unimplemented("function '", recursive,
                                 "' is recursive, and has effects or isn't called directly; "
                                 "such recursion has no gradient yet"));
  for (const std::string &name : entered)
    b.library.leave(name);
  return gradients;
}

/// Differentiates a SymbolicGradient: the gradient of the function that computes the gradient.
Expected<std::optional<Values>> gradientOfSymbolicGradient(Backpropagation &b,
                                                           const DifferentiatedNode &f) {
  auto function = f.node.attr<tf_type::FuncAttr>("f");
  if (!function)
    return Unexpected(noGradient(f.node));
  FuncOp gradient = TREADLE_TRY(b.library.of(function.getName().getRootReference()));
  return callOf(b.emitter, f, "SymbolicGradient", gradient.getName());
}

} // namespace

Expected<std::optional<Values>> functionGradients(Backpropagation &b, const DifferentiatedNode &f) {
  if (f.node.opType() == "SymbolicGradient")
    return gradientOfSymbolicGradient(b, f);
  FunctionMap functions = namedFunctions(f.node, b.library);
  std::optional<FunctionalNode> functional = FunctionalNode::of(f.node, functions);
  if (!functional && isFunctional(opKind(f.node.opType())))
    return Unexpected(unimplemented("its functions are missing, generic, or referenced with "
                                    "attributes; only functions with known types have gradients "
                                    "yet (run tfg-specialize-functions first)"));
  if (!functional)
    return std::optional<Values>();
  Values gradients = TREADLE_TRY(ofFunctional(b, f, *functional));
  return std::optional<Values>(std::move(gradients));
}

} // namespace treadle::tfg
