#include "treadle/session/Compilation.h"

#include "treadle/lowering/Fusion.h"

using namespace mlir;

namespace treadle {

bool mayCompile(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        StringRef name = op->getName().stripDialect();
        bool isLoop = name == "While" || name == "StatelessWhile" || name == "NextIteration";
        return isLoop ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool hasClusters(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return op->hasAttr(StringRef(clusterAttr)) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A pipeline's list of names; empty where there are none.
static std::string option(std::string_view name, const std::vector<std::string> &values) {
  std::string text;
  for (const std::string &value : values)
    text += str(text.empty() ? str(name, "=") : ",", value);
  return text.empty() ? text : text + " ";
}

std::string pruningTo(const Request &request) {
  return str("tfg-prune{", option("fetches", request.fetches), option("targets", request.targets),
             option("feeds", request.feeds), "functions=false}");
}

std::string compilationPipeline(const Request &request, bool prunes) {
  auto nodesOf = [](const std::vector<std::string> &values) {
    std::vector<std::string> nodes;
    for (const std::string &value : values)
      nodes.push_back(value.substr(0, value.find(':')));
    return nodes;
  };
  std::vector<std::string> fed = nodesOf(request.feeds), asked = nodesOf(request.fetches);
  asked.insert(asked.end(), request.targets.begin(), request.targets.end());
  std::vector<std::string> all = fed;
  all.insert(all.end(), asked.begin(), asked.end());
  std::string prune = prunes ? pruningTo(request) + "," : "";
  return str(prune, "tfg-v1-to-functional{", option("keep", all), "},tfg-outline-clusters{",
             option("keep", fed), option("fetches", asked), "}");
}

Expected<void> buildOver(CompiledPlan &made, const Request &request,
                         const CompilationOptions &options, bool fuses, bool compiles) {
  made.functions = std::make_unique<ModuleFunctions>(*made.index, options.kernels, fuses,
                                                     options.loopOverlap, options.traits);
  if (compiles) {
    made.clusters = std::make_unique<codegen::Clusters>(*made.module, *made.index, *made.functions,
                                                        options.kernels, options.counters);
    made.functions->setClusters(made.clusters.get());
  }
  Expected<GraphSpec> spec = lowerGraph(*made.index, request);
  if (!spec)
    return Unexpected(std::move(spec.error()));
  if (fuses)
    fuseNodes(*spec);
  Expected<std::unique_ptr<Plan>> plan =
      buildPlan(std::move(*spec), {&options.kernels, made.functions.get(), ArgMode::Owned,
                                   options.loopOverlap, options.traits, made.clusters.get()});
  if (!plan)
    return Unexpected(std::move(plan.error()));
  made.plan = std::move(*plan);
  return {};
}

Expected<std::shared_ptr<CompiledPlan>> planCompiled(std::unique_ptr<MLIRContext> context,
                                                     OwningOpRef<ModuleOp> module,
                                                     const Request &request,
                                                     const CompilationOptions &options) {
  if (Expected<void> ok = runOn(*module, compilationPipeline(request)); !ok)
    return Unexpected(
        internal("the graph can't be prepared for compilation: ", ok.error().message));
  if (!hasClusters(*module))
    return std::shared_ptr<CompiledPlan>();

  auto made = std::make_shared<CompiledPlan>();
  made->context = std::move(context);
  made->module = std::move(module);
  made->index = std::make_unique<ModuleIndex>(*made->module);
  if (Expected<void> ok = buildOver(*made, request, options, /*fuses=*/true, /*compiles=*/true);
      !ok)
    return Unexpected(std::move(ok.error()));
  return made;
}

} // namespace treadle
