#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/region_to_functional/RegionOutliner.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_REGIONTOFUNCTIONAL
#include "treadle/transforms/Passes.h.inc"

namespace {

struct RegionToFunctional : impl::RegionToFunctionalBase<RegionToFunctional> {
  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::RegionOutliner outliner(getOperation());
    if (failed(outliner.convertAll()))
      return signalPassFailure();
    numConverted += outliner.numConverted;
    numReused += outliner.numReused;
  }
};

} // namespace
} // namespace treadle
