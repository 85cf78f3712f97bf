#include "treadle/session/Compilation.h"

#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/transforms/PlanRewrites.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

using namespace mlir;

namespace treadle {

/// Whether an op of this name is a loop, or a part of one.
static bool isLoop(StringRef op) {
  OpKind kind = opKind(op);
  return kind == OpKind::While || kind == OpKind::NextIteration;
}

bool WorkFinder::isIn(StringRef name) {
  tfg::FuncOp function = index.function(name);
  if (!function || function->getRegion(0).empty())
    return false;
  if (auto [it, isNew] = known.try_emplace(name, false); !isNew)
    return it->second;
  bool found = false;
  int64_t computing = 0;
  for (Operation &op : function.getEntry()) {
    tfg::Node node(&op);
    computing += tfg::computesElements(node.opType());
    found = isReachedBy(node) || computing >= tfg::worthCompiling;
    if (found)
      break;
  }
  return known[name] = found;
}

bool WorkFinder::isReachedBy(tfg::Node node) {
  bool found = isLoop(node.opType()) || isIn(node.opType());
  for (NamedAttribute attr : node.attrs())
    tfg::forEachFunctionName(attr.getValue(), [&](StringRef callee) { found |= isIn(callee); });
  return found;
}

bool WorkFinder::isIn(const NeededPart &part) {
  int64_t computing = 0;
  return part.hasNode([&](tfg::Node node) {
    computing += tfg::computesElements(node.opType());
    return computing >= tfg::worthCompiling || isReachedBy(node);
  });
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

std::string pruningTo(const Request &request, bool functions) {
  return str("tfg-prune{", option("fetches", request.fetches), option("targets", request.targets),
             option("feeds", request.feeds), "functions=", functions ? "true}" : "false}");
}

std::string compilationPipeline(const Request &request, bool prunes) {
  auto nodesOf = [](const std::vector<std::string> &values) {
    std::vector<std::string> nodes;
    for (const std::string &value : values)
      nodes.push_back(nodeOf(value));
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
  const ModuleIndex &index = *made.source->index;
  const Rewrite rewrite = planRewrites(fuses, options.loopOverlap);
  auto functions = [&] {
    return std::make_unique<ModuleFunctions>(index, options.kernels, rewrite, options.loopOverlap,
                                             options.traits);
  };
  made.functions = functions();
  if (compiles) {
    made.plain = functions();
    made.clusters = std::make_unique<codegen::Clusters>(
        made.source, *made.functions, *made.plain, options.kernels, options.budget,
        options.counters, options.client, options.fastMath);
    made.functions->setClusters(made.clusters.get());
  }
  Expected<GraphSpec> spec = neededPart(index, request).and_then([&](NeededPart part) {
    rewrite(part, index, *made.functions);
    return lower(index, part);
  });
  if (!spec)
    return Unexpected(std::move(spec.error()));
  Expected<std::unique_ptr<Plan>> plan =
      buildPlan(std::move(*spec), {&options.kernels, made.functions.get(), ArgMode::Owned,
                                   options.loopOverlap, options.traits, made.clusters.get()});
  if (!plan)
    return Unexpected(std::move(plan.error()));
  made.plan = std::move(*plan);
  return {};
}

Expected<std::shared_ptr<codegen::ClusterModule>> outlineClusters(const Graph &graph,
                                                                  const Request &request) {
  auto copy = std::make_shared<codegen::ClusterModule>();
  copy->context = graph.impl->context;
  copy->module = graph.impl->copy();
  if (Expected<void> ok = runOn(*copy->module, compilationPipeline(request)); !ok)
    return Unexpected(
        internal("the graph can't be prepared for compilation: ", ok.error().message));
  if (!hasClusters(*copy->module))
    return nullptr;
  copy->index = std::make_unique<ModuleIndex>(*copy->module);
  return copy;
}

Expected<std::shared_ptr<CompiledPlan>>
planCompiled(std::shared_ptr<codegen::ClusterModule> outlined, const Request &request,
             const CompilationOptions &options) {
  auto made = std::make_shared<CompiledPlan>();
  made->source = std::move(outlined);
  TREADLE_TRY(buildOver(*made, request, options, /*fuses=*/true, /*compiles=*/true));
  return made;
}

} // namespace treadle
