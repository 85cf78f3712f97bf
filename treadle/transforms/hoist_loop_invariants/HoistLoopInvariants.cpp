#include "treadle/transforms/hoist_loop_invariants/HoistLoopInvariants.h"

#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_HOISTLOOPINVARIANTS
#include "treadle/transforms/Passes.h.inc"

namespace {

struct HoistLoopInvariants : impl::HoistLoopInvariantsBase<HoistLoopInvariants> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::Effects effects(getOperation());
    const tfg::FunctionMap functions = tfg::functionsOf(getOperation());
    const llvm::StringMap<unsigned> uses = tfg::countFunctionReferences(getOperation());
    tfg::forEachBody(getOperation(), [&](Block &body) {
      if (frames)
        tfg::hoistFromFrames(body, effects);
      SmallVector<tfg::Node> nodes;
      for (Operation &op : body)
        if (tfg::Node::isNode(&op))
          nodes.push_back(tfg::Node(&op));
      std::optional<tfg::NameScope> names;
      for (tfg::Node node : nodes) {
        auto loop = tfg::FunctionalNode::of(node, functions);
        if (!loop || loop->kind != tfg::FunctionalKind::While || !isOnlyUser(*loop, uses))
          continue;
        if (!names)
          names.emplace(body);
        tfg::hoistFromWhile(*loop, effects, *names);
      }
    });
  }

private:
  static bool isOnlyUser(const tfg::FunctionalNode &loop, const llvm::StringMap<unsigned> &uses) {
    return loop.functions[0] != loop.functions[1] &&
           llvm::all_of(loop.functions,
                        [&](tfg::FuncOp function) { return uses.lookup(function.getName()) == 1; });
  }
};

} // namespace
} // namespace treadle
