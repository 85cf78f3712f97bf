#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/constant_folding/Simplifier.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_CONSTANTFOLDING
#include "treadle/transforms/Passes.h.inc"

namespace {

const llvm::StringMap<SmallVector<tfg::Rule, 1>> &rulesByOpOrForm() {
  static const auto rules = [] {
    llvm::StringMap<SmallVector<tfg::Rule, 1>> out;
    for (ArrayRef<tfg::RuleEntry> table : {tfg::arithmeticRules(), tfg::shapeRules()})
      for (const tfg::RuleEntry &entry : table)
        out[StringRef(entry.opOrForm)].push_back(entry.rule);
    return out;
  }();
  return rules;
}

struct ConstantFolding : impl::ConstantFoldingBase<ConstantFolding> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::Effects effects(getOperation());
    tfg::Constants constants;
    if (failed(tfg::markFed(getOperation(), llvm::to_vector(feeds), constants)))
      return signalPassFailure();
    auto run = [&](Block &body) {
      tfg::Simplifier simplifier(body, constants, effects, maxBytes);
      for (Operation *op : tfg::topologicalOrder(body))
        if (tfg::Node::isNode(op))
          simplify(simplifier, tfg::Node(op));
    };
    // Enclosing bodies first, because they may provide constants to their regions.
    tfg::forEachBody(getOperation(), [&](Block &body) {
      run(body);
      tfg::forEachRegionBody(body, run);
    });
  }

private:
  void simplify(tfg::Simplifier &simplifier, tfg::Node node) {
    constexpr int maxRewrites = 8; // terminates: each rule leaves less to compute
    for (int i = 0; i < maxRewrites; ++i) {
      tfg::Node made = rewriteOnce(simplifier, node);
      if (!made)
        break;
      node = made;
    }
    if (identities) {
      tfg::bypassIdentity(simplifier, node);
      tfg::bypassNoOp(node);
    }
    if (control)
      tfg::dropRedundantControl(simplifier, node);
  }

  tfg::Node rewriteOnce(tfg::Simplifier &simplifier, tfg::Node node) const {
    if (evaluate)
      if (tfg::Node made = tfg::foldConstantInputs(simplifier, node))
        return made;
    if (!identities)
      return {};
    const OpDef *def = lookupOp(node.opType());
    StringRef form = !def                        ? std::string_view()
                     : !def->reduction().empty() ? tfg::RuleEntry::reductions
                                                 : def->elementwise();
    for (StringRef key : {node.opType(), form}) {
      auto rules = rulesByOpOrForm().find(key);
      if (rules == rulesByOpOrForm().end() || node.numData() == 0 || !simplifier.isFree(node))
        continue;
      for (tfg::Rule rule : rules->second)
        if (tfg::Node made = rule(simplifier, node))
          return made;
    }
    return {};
  }
};

} // namespace
} // namespace treadle
