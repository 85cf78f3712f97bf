#include "treadle/transforms/PlanRewrites.h"

#include "treadle/transforms/fuse_kernels/FuseKernels.h"
#include "treadle/transforms/structure_loops/StructureLoops.h"

namespace treadle {

Rewrite planRewrites(bool fuses, LoopOverlap overlap) {
  return [=](NeededPart &part, const ModuleIndex &index, FunctionLibrary &functions) {
    if (fuses)
      tfg::fuseKernels(part, index);
    if (overlap != LoopOverlap::On)
      tfg::structureLoops(part, functions);
  };
}

} // namespace treadle
