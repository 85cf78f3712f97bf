#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_V1TOFUNCTIONAL
#include "treadle/transforms/Passes.h.inc"

namespace {

/// Returns whether the body has both regions and v1 control flow. It isn't converted: values that
/// regions use from a branch or frame would belong to it.
bool hasRegionsBesideV1(Block &body) {
  Operation *withRegions = nullptr;
  bool hasV1 = false;
  for (Operation &op : body) {
    withRegions = op.getNumRegions() != 0 ? &op : withRegions;
    hasV1 |= tfg::Node::isNode(&op) && tfg::isV1ControlFlow(tfg::Node(&op));
  }
  if (!hasV1 || !withRegions)
    return false;
  tfg::Node node(withRegions);
  withRegions->emitRemark()
      << "node '" << node.name() << "' (" << node.opType()
      << ") has regions, so the v1 control flow around it isn't converted; run "
         "tfg-region-to-functional first";
  return true;
}

struct V1ToFunctional : impl::V1ToFunctionalBase<V1ToFunctional> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    llvm::StringSet<> kept;
    for (const std::string &name : keep)
      kept.insert(name);
    // Functions that the conversion creates are complete already.
    SmallVector<Block *> bodies;
    tfg::forEachBody(getOperation(), [&](Block &body) {
      if (!hasRegionsBesideV1(body))
        bodies.push_back(&body);
    });
    tfg::Conversion conversion(getOperation(), kept);
    for (Block *body : bodies) {
      tfg::convertLoops(conversion, *body);
      tfg::convertConditionals(conversion, *body);
    }
    conversion.restoreFunctions();
    for (Block *body : bodies)
      tfg::restoreLowered(*body);
    numLoops += conversion.counts.loops;
    numConvertedLoops += conversion.counts.convertedLoops;
    numConditionals += conversion.counts.conditionals;
    numConvertedConditionals += conversion.counts.convertedConditionals;
  }
};

} // namespace
} // namespace treadle
