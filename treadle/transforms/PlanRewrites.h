// The rewrites that pay in runs alone.
#pragma once

#include "treadle/lowering/NeededPart.h"
#include "treadle/runtime/Modes.h"

namespace treadle {

namespace tfg {
class PartClusters;
}

/// What a plan's rewrites are to do.
struct PlanRewriteOptions {
  bool fuses = false; // nodes become the ones that one kernel computes
  /// v1 loops become structured ones, unless all their iterations are to overlap.
  LoopOverlap overlap = LoopOverlap::Auto;
  tfg::PartClusters *clusters = nullptr; // makes clusters of what is worth compiling; null: none
  bool ofCluster = false;                // the part is a cluster's: it has those in its loops alone
};

/// What happens to a part before it becomes a plan. What the options refer to outlives it.
Rewrite planRewrites(const PlanRewriteOptions &options);

} // namespace treadle
