#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

using namespace mlir;

namespace treadle::tfg {

SubgraphClusters::SubgraphClusters(const ModuleIndex &index, bool callsPython)
    : index(index), finder([&index](StringRef name) { return index.function(name); },
                           /*raises=*/true, callsPython) {}

void SubgraphClusters::outline(PrunedSubgraph &part, Block &body,
                               const std::vector<Cluster> &found) {
  if (found.empty())
    return;
  SoftEdges soft(body);
  for (const Cluster &cluster : found) {
    auto outlined = std::make_shared<OutlinedCluster>(cluster.nodes[0]->getLoc());
    outlined->runsPython = cluster.runsPython;
    Node call = outlineCluster(cluster, {}, *outlined->module, "cluster", "cluster");
    part.setCluster(call.getOperation(), std::move(outlined));
  }
}

/// Returns the bodies of regions in the subgraph, innermost first.
static SmallVector<Block *> innerBodies(PrunedSubgraph &part) {
  SmallVector<Block *> bodies;
  if (part.hasNode([](Node node) { return node->getNumRegions() != 0; }))
    forEachRegionBody(part.copyNodes(), [&](Block &body) { bodies.push_back(&body); });
  return bodies;
}

void SubgraphClusters::outlineLoops(PrunedSubgraph &part, bool onlyInner) {
  std::lock_guard lock(mutex);
  const bool callsNothing = index.allFunctions().empty();
  auto hasLoop = [&](Node node) {
    return callsNothing ? node->getNumRegions() != 0 : finder.hasLoop(node);
  };
  if (!onlyInner && part.hasNode(hasLoop))
    outline(part, part.copyNodes(), finder.loops(part.copyNodes(), {}));
  for (Block *body : innerBodies(part)) // bodies of loops outside of clusters
    outline(part, *body, finder.loops(*body, {}));
}

void SubgraphClusters::outlineStraight(PrunedSubgraph &part, bool onlyInner) {
  std::lock_guard lock(mutex);
  for (Block *body : innerBodies(part))
    outline(part, *body, finder.straight(*body, {}));
  StraightWork work;
  if (!onlyInner && part.size() <= maxGraphNodes &&
      part.hasNode([&](Node node) { return work.add(node); }))
    outline(part, part.copyNodes(), finder.straight(part.copyNodes(), {}));
}

} // namespace treadle::tfg
