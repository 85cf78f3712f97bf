#include "treadle/session/ChainedFrames.h"

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

Expected<std::shared_ptr<CompiledPlan>> planWithChains(const Graph &graph, const Request &request,
                                                       bool fuses,
                                                       const CompilationOptions &options) {
  auto made = std::make_shared<CompiledPlan>();
  made->source = std::make_shared<codegen::ClusterModule>();
  auto &[context, copy, index, compiling, code] = *made->source;
  context = graph.impl->context;
  copy = graph.impl->copy();
  if (Expected<void> ok = runOn(*copy, pruningTo(request)); !ok)
    return Unexpected(internal("the graph can't be pruned: ", ok.error().message));
  if (tfg::chainLoops(*copy, LoopOverlap::On).changed == 0)
    return std::shared_ptr<CompiledPlan>();
  index = std::make_unique<ModuleIndex>(*copy);
  if (!hasAll(*index, request.feeds) || !hasAll(*index, request.fetches) ||
      !hasAll(*index, request.targets))
    return std::shared_ptr<CompiledPlan>();
  TREADLE_TRY(buildOver(*made, request, options, fuses, /*compiles=*/false));
  return made;
}

} // namespace treadle
