#include "treadle/session/ChainedFrames.h"

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

using namespace mlir;

namespace treadle {
namespace {

int64_t countChained(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *op) { count += op->hasAttr(tfg::chainedKey); });
  return count;
}

bool hasAll(const ModuleIndex &index, const std::vector<std::string> &values) {
  return llvm::all_of(values, [&](const std::string &value) {
    return static_cast<bool>(index.node(nodeOf(value)));
  });
}

} // namespace

bool hasFrames(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        bool isLoop = tfg::Node::isNode(op) && tfg::Node(op).opType() == "NextIteration";
        return isLoop ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

Expected<std::shared_ptr<CompiledPlan>> planWithChains(ModuleOp module, const Request &request,
                                                       bool fuses,
                                                       const CompilationOptions &options) {
  auto made = std::make_shared<CompiledPlan>();
  made->source = std::make_shared<codegen::ClusterModule>();
  auto &[context, copy, index, compiling] = *made->source;
  context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> copied = TREADLE_TRY(copyInto(*context, module));
  copy = std::move(copied);
  int64_t before = countChained(*copy);
  if (Expected<void> ok = runOn(*copy, pruningTo(request) + ",tfg-deps-to-chains{loop-overlap=on}");
      !ok)
    return Unexpected(internal("the graph's loops can't be chained: ", ok.error().message));
  if (countChained(*copy) == before)
    return std::shared_ptr<CompiledPlan>();
  index = std::make_unique<ModuleIndex>(*copy);
  share(*context);
  if (!hasAll(*index, request.feeds) || !hasAll(*index, request.fetches) ||
      !hasAll(*index, request.targets))
    return std::shared_ptr<CompiledPlan>();
  TREADLE_TRY(buildOver(*made, request, options, fuses, /*compiles=*/false));
  return made;
}

} // namespace treadle
