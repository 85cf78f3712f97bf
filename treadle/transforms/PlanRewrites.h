// The rewrites that only pay off in runs.
#pragma once

#include "treadle/lowering/PrunedSubgraph.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Modes.h"

namespace treadle {

namespace tfg {
class SubgraphClusters;
}

/// Selects the rewrites of a plan.
struct PlanRewriteOptions {
  bool fuses = false; // fuses nodes that one kernel computes
  /// v1 loops become structured loops, unless all of their iterations may overlap.
  LoopOverlap overlap = LoopOverlap::Auto;
  tfg::SubgraphClusters *clusters = nullptr; // outlines clusters of compilable nodes; null: none
  /// The subgraph is the body of a cluster, so only loops in it can become clusters.
  bool ofCluster = false;
  /// The kernels of the plan. Null if constants aren't folded.
  const KernelRegistry *kernels = nullptr;
};

/// Returns the rewrites that are applied to a subgraph before it becomes a plan. Objects that the
/// options refer to must outlive the result.
Rewrite planRewrites(const PlanRewriteOptions &options);

} // namespace treadle
