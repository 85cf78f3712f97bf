#include "treadle/session/FunctionalLoops.h"

#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/session/Pipelines.h"
#include "treadle/transforms/outline_clusters/ClusterFinder.h"

using namespace mlir;

namespace treadle {

static bool hasClusters(ModuleOp module) {
  tfg::ClusterFinder finder(tfg::lookupIn(module));
  bool found = false;
  tfg::forEachBody(module, [&](Block &body) {
    found = found || !finder.loops(body, {}).empty() || !finder.straight(body, {}).empty();
  });
  return found;
}

std::optional<Graph> withFunctionalLoops(const Graph &graph, const Request &request) {
  if (!tfg::hasFrames(*graph.impl->module))
    return std::nullopt;
  OwningOpRef<ModuleOp> copy = graph.impl->copy();
  if (!runOn(*copy, functionalPipeline(request)) || !hasClusters(*copy))
    return std::nullopt;
  return derivedGraph(graph, std::move(copy));
}

} // namespace treadle
