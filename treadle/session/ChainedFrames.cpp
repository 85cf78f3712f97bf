#include "treadle/session/ChainedFrames.h"

#include "treadle/rewriting/Frames.h"
#include "treadle/session/Pipelines.h"
#include "treadle/transforms/deps_to_chains/ChainLoops.h"

using namespace mlir;

namespace treadle {
namespace {

bool hasAll(const ModuleIndex &index, const std::vector<std::string> &values) {
  return llvm::all_of(values, [&](const std::string &value) {
    return static_cast<bool>(index.node(nodeOf(value)));
  });
}

} // namespace

std::optional<Graph> withChainedFrames(const Graph &graph, const Request &request) {
  if (!tfg::hasFrames(*graph.impl->module))
    return std::nullopt;
  OwningOpRef<ModuleOp> copy = graph.impl->copy();
  if (!runOn(*copy, pruningTo(request)) || tfg::chainLoops(*copy, LoopOverlap::On).changed == 0)
    return std::nullopt;
  Graph chained = derivedGraph(graph, std::move(copy));
  const ModuleIndex &index = chained.impl->index();
  if (!hasAll(index, request.feeds) || !hasAll(index, request.fetches) ||
      !hasAll(index, request.targets))
    return std::nullopt;
  return chained;
}

} // namespace treadle
