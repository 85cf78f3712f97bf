#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

using namespace mlir;

namespace treadle::tfg {

PartClusters::PartClusters(const ModuleIndex &index)
    : index(index),
      finder([&index](StringRef name) { return index.function(name); }, /*raises=*/true) {}

void PartClusters::outline(NeededPart &part, const std::vector<Cluster> &found) {
  if (found.empty())
    return;
  SoftEdges soft(part.makeOwn());
  for (const Cluster &cluster : found) {
    auto outlined = std::make_shared<OutlinedCluster>(cluster.nodes[0]->getLoc());
    Node call = outlineCluster(cluster, {}, *outlined->module, "cluster", "cluster");
    part.setCluster(call.getOperation(), std::move(outlined));
  }
}

void PartClusters::outlineLoops(NeededPart &part) {
  std::lock_guard lock(mutex);
  if (part.hasNode([&](Node node) { return finder.hasLoop(node); }))
    outline(part, finder.loops(part.makeOwn(), {}));
}

void PartClusters::outlineStraight(NeededPart &part) {
  if (part.size() > mostOfGraph)
    return;
  int64_t computing = 0;
  bool isWorthCompiling = part.hasNode([&](Node node) {
    return nativeForm(node) == NativeForm::Computes && ++computing == worthCompiling;
  });
  std::lock_guard lock(mutex);
  if (isWorthCompiling)
    outline(part, finder.straight(part.makeOwn(), {}));
}

} // namespace treadle::tfg
