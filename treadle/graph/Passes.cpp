// Graph::runPasses: runs passes over a copy of the graph.
#include "treadle/graph/GraphImpl.h"

#include "treadle/dialect/Diagnostics.h"
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/graph/MetadataNames.h"
#include "treadle/graph/PassOptions.h"
#include "treadle/import/SavedModel.h"
#include "treadle/rewriting/Colocation.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/tensor/Suggestions.h"
#include "treadle/transforms/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace treadle {
namespace {

/// Returns ` (did you mean 'tfg-cse'?)`, or all passes if no name is similar.
std::string suggestPasses(std::string_view wanted) {
  std::vector<std::string_view> names = passNames();
  std::string near = didYouMean(wanted, names);
  if (!near.empty())
    return near;
  std::string all;
  for (std::string_view name : names)
    all += str(all.empty() ? "; there are " : ", ", name);
  return all;
}

/// `why` is MLIR's diagnostic (`...:1:16: error: 'tfg-prun' does not refer to a registered
/// pass...`, followed by the pipeline and a caret line), or an error about the options of a pass.
Error pipelineError(std::string_view pipeline, StringRef why) {
  auto [message, rest] = why.trim().split('\n');
  std::string reason = message.str();
  if (size_t mark = message.find("error: "); mark != message.npos)
    reason = message.drop_front(mark + StringRef("error: ").size()).str();
  else if (!rest.trim().empty())
    reason += str(": ", rest.trim().str());
  StringRef name = reason;
  if (name.consume_front("'") && name.contains("' does not refer to a registered pass")) {
    std::string wanted = name.take_until([](char c) { return c == '\''; }).str();
    reason = str("there is no pass '", wanted, "'", suggestPasses(wanted));
  }
  return invalidArgument("'", pipeline, "' is not a valid pass pipeline: ", reason,
                         "; see docs/working-on-graphs.md for passes and their options");
}

} // namespace

void registerPassesOnce() {
  static const bool isDone = (registerTreadlePasses(), registerTreadlePipelines(), true);
  (void)isDone;
}

static Expected<void> parse(std::string_view pipeline, PassManager &passes) {
  registerPassesOnce();
  std::string why;
  llvm::raw_string_ostream stream(why);
  if (failed(parsePassPipeline(StringRef(pipeline), passes, stream)))
    return Unexpected(pipelineError(pipeline, why));
  return {};
}

Expected<void> checkPipeline(std::string_view pipeline) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  PassManager passes(&context, ModuleOp::getOperationName());
  return parse(pipeline, passes);
}

Expected<void> runOn(ModuleOp module, std::string_view pipeline) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  TREADLE_TRY(parse(pipeline, passes));
  FirstError first(module.getContext());
  tfg::StaleColocations colocations(module);
  if (failed(passes.run(module)))
    return Unexpected(invalidArgument(first.message.empty() ? "a pass failed" : first.message));
  colocations.drop(module);
  return {};
}

/// Marks functions that the model's metadata refers to, so that passes keep them as if the graph
/// called them.
static void markFunctions(ModuleOp metaGraph, const MetadataNames &names, bool isMarked) {
  Builder builder(metaGraph.getContext());
  SmallVector<Attribute> functions;
  for (const std::string &name : names.functions)
    functions.push_back(
        tf_type::FuncAttr::get(builder.getContext(), name, builder.getDictionaryAttr({})));
  for (auto graph : metaGraph.getOps<tfg::GraphOp>())
    if (isMarked)
      graph->setDiscardableAttr(tfg::keptFunctionsKey, builder.getArrayAttr(functions));
    else
      graph->removeDiscardableAttr(tfg::keptFunctionsKey);
}

static Expected<void> runOnMetaGraph(ModuleOp metaGraph, std::string_view pipeline) {
  MetadataNames names = TREADLE_TRY(metadataNames(metaGraph));
  markFunctions(metaGraph, names, true);
  Expected<void> done = runOn(metaGraph, pipelineKeeping(pipeline, names.nodes));
  markFunctions(metaGraph, names, false);
  return done ? verifyNamesExist(metaGraph, names) : done;
}

Expected<Graph> Graph::runPasses(std::string_view pipeline) const {
  OwningOpRef<ModuleOp> module = impl->copy();
  SmallVector<ModuleOp> models = metaGraphs(*module);
  if (models.empty())
    TREADLE_TRY(runOn(*module, pipeline));
  for (ModuleOp metaGraph : models)
    TREADLE_TRY(runOnMetaGraph(metaGraph, pipeline));
  return derivedGraph(*this, std::move(module));
}

static bool hasRegions(ModuleOp module) {
  for (Operation &top : *module.getBody())
    for (Region &body : top.getRegions())
      for (Operation &op : body.getOps())
        if (tfg::Node::isNode(&op) && op.getNumRegions() != 0)
          return true;
  return false;
}

static bool hasPrograms(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return tfg::Node::isNode(op) && tfg::Node(op).opType() == "XlaCallModule"
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

Expected<Graph> withoutEmbeddedPrograms(const Graph &graph) {
  return hasPrograms(*graph.impl->module) ? graph.runPasses("tfg-expand-programs") : graph;
}

Expected<Graph> withoutRegions(const Graph &graph) {
  if (!hasRegions(*graph.impl->module))
    return graph;
  Expected<Graph> functional = graph.runPasses("tfg-region-to-functional");
  if (!functional)
    return Unexpected(unimplemented(functional.error().message));
  return functional;
}

} // namespace treadle
