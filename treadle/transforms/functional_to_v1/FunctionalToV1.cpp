#include "treadle/dialect/FunctionNames.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Dissolving.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/functional_to_v1/Lowering.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_FUNCTIONALTOV1
#include "treadle/transforms/Passes.h.inc"

namespace {

bool hasFunctions(tfg::Node node, ArrayRef<StringRef> keys) {
  return llvm::all_of(keys,
                      [&](StringRef key) { return node.attr<tf_type::FuncAttr>(key) != nullptr; });
}

bool isCase(tfg::Node node) {
  auto branches = node.attr<ArrayAttr>("branches");
  return node.numData() >= 1 && branches && !branches.empty() &&
         llvm::all_of(branches, llvm::IsaPred<tf_type::FuncAttr>);
}

struct Form {
  OpKind kind;
  void (tfg::Lowering::*lower)();
  /// Checks what lowering assumes, as the runtime does; malformed nodes aren't lowered.
  bool (*isWellFormed)(tfg::Node node);
};

constexpr Form forms[] = {
    {OpKind::While, &tfg::Lowering::lowerWhile,
     [](tfg::Node node) {
       return hasFunctions(node, {"cond", "body"}) && node.numData() == node.numResults();
     }},
    {OpKind::For, &tfg::Lowering::lowerFor,
     [](tfg::Node node) {
       return hasFunctions(node, {"body"}) && node.numData() == node.numResults() + 3;
     }},
    {OpKind::If, &tfg::Lowering::lowerIf,
     [](tfg::Node node) {
       return hasFunctions(node, {"then_branch", "else_branch"}) && node.numData() >= 1;
     }},
    {OpKind::Case, &tfg::Lowering::lowerCase, isCase},
};

const Form *formOf(Operation *op) {
  if (!tfg::Node::isNode(op))
    return nullptr;
  tfg::Node node(op);
  const Form *form =
      llvm::find_if(forms, [&](const Form &form) { return form.kind == opKind(node.opType()); });
  if (form == std::end(forms))
    return nullptr;
  if (form->isWellFormed(node))
    return form;
  node->emitRemark() << "node '" << node.name() << "' (" << node.opType()
                     << ") isn't lowered: its inputs and outputs don't match its functions";
  return nullptr;
}

struct FunctionalToV1 : impl::FunctionalToV1Base<FunctionalToV1> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::Effects effects(getOperation());
    SymbolTable functions(getOperation());
    auto lowerIn = [&](Block &body) {
      tfg::BodyNames names(body);
      for (Operation &op : llvm::make_early_inc_range(body))
        if (const Form *form = formOf(&op); form && (!dissolving || tfg::dissolves(tfg::Node(&op))))
          (tfg::Lowering(tfg::Node(&op), names, effects, functions).*form->lower)();
    };
    if (!dissolving)
      return tfg::forEachBody(getOperation(), lowerIn);
    llvm::for_each(bodiesToLower(functions), [&](Block *body) { lowerIn(*body); });
  }

private:
  /// Returns the graph's body, and the bodies of functions that nodes with TensorFlow's weaker
  /// dependencies inline into it.
  std::vector<Block *> bodiesToLower(SymbolTable &functions) {
    llvm::SetVector<Block *, std::vector<Block *>> bodies;
    for (tfg::GraphOp graph : getOperation().getOps<tfg::GraphOp>())
      bodies.insert(&graph.getNodes().front());
    auto add = [&](StringRef name) {
      auto function = functions.lookup<tfg::FuncOp>(name);
      if (function && !function.isExternal() && !function.getGeneric())
        bodies.insert(&function.getEntry());
    };
    for (size_t i = 0; i < bodies.size(); ++i) // the list grows in the loop
      for (Operation &op : *bodies[i])
        if (tfg::Node::isNode(&op) && tfg::dissolves(tfg::Node(&op)))
          tfg::forEachFunctionName(tfg::Node(&op), add);
    return bodies.takeVector();
  }
};

} // namespace
} // namespace treadle
