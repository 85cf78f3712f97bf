#include "treadle/transforms/Passes.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_V1TOFUNCTIONAL
#include "treadle/transforms/Passes.h.inc"

namespace {

struct V1ToFunctional : impl::V1ToFunctionalBase<V1ToFunctional> {
  using Base::Base;

  void runOnOperation() override {
    llvm::StringSet<> kept;
    for (const std::string &name : keep)
      kept.insert(name);
    // Functions that are made on the way are finished by then.
    SmallVector<Block *> bodies;
    tfg::forEachBody(getOperation(), [&](Block &body) { bodies.push_back(&body); });
    tfg::Conversion conversion(getOperation(), kept);
    for (Block *body : bodies) {
      tfg::convertLoops(conversion, *body);
      tfg::convertConditionals(conversion, *body);
      tfg::restoreLowered(*body);
    }
    numLoops += conversion.counts.loops;
    numConvertedLoops += conversion.counts.convertedLoops;
    numConditionals += conversion.counts.conditionals;
    numConvertedConditionals += conversion.counts.convertedConditionals;
  }
};

} // namespace
} // namespace treadle
