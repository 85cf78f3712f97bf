#include "treadle/transforms/PlanRewrites.h"

#include "treadle/transforms/constant_folding/PlanConstants.h"
#include "treadle/transforms/fuse_kernels/FuseKernels.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"
#include "treadle/transforms/structure_loops/StructureLoops.h"

namespace treadle {

Rewrite planRewrites(const PlanRewriteOptions &options) {
  return [=](PrunedSubgraph &part, const ModuleIndex &index, FunctionLibrary &functions) {
    bool clusters = options.clusters && options.clusters->serves(index);
    if (options.overlap != LoopOverlap::On)
      tfg::structureLoops(part, functions);
    if (clusters && options.kernels)
      tfg::foldPlanConstants(part, index, *options.kernels);
    if (clusters)
      options.clusters->outlineLoops(part, options.ofCluster);
    if (options.fuses)
      tfg::fuseKernels(part, index);
    if (clusters)
      options.clusters->outlineStraight(part, options.ofCluster);
  };
}

} // namespace treadle
