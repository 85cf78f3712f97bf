#include "treadle/session/SessionPlans.h"
#include "treadle/distributed/Exchanges.h"
#include "treadle/session/CallPruning.h"
#include "treadle/session/ChainedFrames.h"
#include "treadle/session/FunctionalLoops.h"
#include "treadle/session/NodeInlining.h"

#include "treadle/kernels/Families.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/PlanRewrites.h"

#include <algorithm>

using namespace mlir;

namespace treadle {

namespace {

bool hasReference(const GraphSpec &graph) {
  return std::ranges::any_of(graph.nodes, [](const NodeSpec &node) {
    return std::ranges::any_of(node.outputTypes, [](ValueType type) { return type.isRef; }) ||
           (node.loop && (hasReference(node.loop->cond) || hasReference(node.loop->body)));
  });
}

/// Whether the request fetches from inside a loop. Compiled loops don't expose such values.
bool fetchesInsideLoops(const PlanKey &key) {
  return std::ranges::any_of(key.fetches,
                             [](const std::string &name) { return name.find('@') != name.npos; });
}

std::shared_ptr<codegen::CompileClient> clientFor(const SessionOptions &options) {
  return options.tier == Tier::Auto ? codegen::CompileClient::make() : nullptr;
}

std::shared_ptr<codegen::CompileCounters> countersFor(const SessionOptions &options) {
  if (!options.statistics && !options.countsCode)
    return nullptr;
  auto counters = std::make_shared<codegen::CompileCounters>();
  if (options.countsCode)
    counters->meter = std::make_unique<codegen::CodeMeter>();
  return counters;
}

} // namespace

SessionPlans::SessionPlans(const Graph &graph, const SessionOptions &options)
    : counters(countersFor(options)), options(options),
      kernels(options.kernels ? *options.kernels : builtinKernels()),
      loopOverlap(options.loopOverlap), client(clientFor(options)),
      whole(std::make_shared<Source>(*this, graph)) {}

SessionPlans::Source::Source(const SessionPlans &plans, Graph own)
    : graph(std::move(own)),
      // Traits tell how Python functions share variables and wait, which compiled code ignores.
      finder(graph.impl->index(), /*callsPython=*/!plans.options.traits),
      functions(graph.impl->index(), plans.kernels,
                planRewrites({.fuses = plans.fuses(),
                              .overlap = plans.loopOverlap,
                              .clusters = plans.fuses() ? &finder : nullptr,
                              .kernels = &plans.kernels}),
                plans.loopOverlap, plans.options.traits),
      clusters(std::make_shared<codegen::ClusterSource>(graph.impl, graph.impl->index()), functions,
               {.kernels = plans.kernels,
                .budget = plans.compileBudget,
                .counters = plans.counters,
                .client = plans.client,
                .fastMath = plans.options.fastMath,
                .rewrite = planRewrites({.fuses = plans.fuses(),
                                         .overlap = plans.loopOverlap,
                                         .clusters = plans.fuses() ? &finder : nullptr,
                                         .ofCluster = true,
                                         .kernels = &plans.kernels})}) {
  functions.setClusters(&clusters);
}

const SessionPlans::Properties &SessionPlans::properties() const {
  std::call_once(propertiesFound, [this] {
    auto isForeign = [&](const GraphSummary::Count &count) {
      return options.kernels->find(count.op) != builtinKernels().find(count.op);
    };
    const Graph &graph = whole->graph;
    found = {hasDissolvedNodes(graph), tfg::hasFrames(*graph.impl->module),
             options.kernels && std::ranges::any_of(summarize(graph).ops, isForeign)};
  });
  return found;
}

/// Returns the session's graph, or a copy without unneeded effects and computations, in which v1
/// loops are functional (to be compiled) or have the chains that let them overlap.
SessionPlans::SourcePtr SessionPlans::sourceOf(const PlanKey &key) const {
  const Request request = key.request();
  Graph graph = whole->graph;
  bool isOwn = false;
  auto take = [&](std::optional<Graph> made) {
    if (made)
      graph = std::move(*made);
    isOwn |= made.has_value();
  };
  if (properties().hasDissolvedNodes)
    take(withInlinedNodes(graph, request));
  take(withPrunedCalls(graph, request));
  if (loopOverlap == LoopOverlap::On)
    take(withChainedFrames(graph, request));
  else if ((isOwn || properties().hasFrames) && fuses() && !fetchesInsideLoops(key) &&
           !options.communicator)
    take(withFunctionalLoops(graph, request));
  return isOwn ? std::make_shared<Source>(*this, std::move(graph)) : whole;
}

SessionPlans::~SessionPlans() {
  if (client)
    client->close();
}

PlanKey RunRequest::key() const {
  PlanKey key{{}, fetches, targets};
  for (const auto &[name, value] : feeds)
    key.feeds.push_back(name);
  return key;
}

bool RunRequest::is(const PlanKey &key) const {
  return fetches == key.fetches && targets == key.targets &&
         std::ranges::equal(feeds, key.feeds, {}, &Session::Feeds::value_type::first);
}

Expected<std::shared_ptr<const SessionPlan>> SessionPlans::of(const RunRequest &request) {
  if (auto own = recent.tryTake()) {
    auto isAsked = [&](const KnownPlan &known) { return request.is(known.key); };
    auto found = std::ranges::find_if(*own, isAsked);
    if (found != own->end()) {
      std::rotate(own->begin(), found, found + 1);
      return own->front().plan;
    }
  }
  PlanKey key = request.key();
  std::shared_ptr<const SessionPlan> share = shareWithOwnCount(TREADLE_TRY(find(key)));
  if (auto own = recent.tryTake()) {
    if (own->size() == maxRecent)
      own->pop_back();
    own->insert(own->begin(), {std::move(key), share});
  }
  return share;
}

/// As measured: a plan, its names, the kernels' states, and the copy of the graph if it has one.
static size_t estimatedMemory(const PlanKey &key, const Plan &plan, bool ownsGraph) {
  constexpr size_t ofPlan = 1'500, ofNode = 250, ofCopiedNode = 2'500;
  size_t bytes = ofPlan + plan.infos.size() * (ownsGraph ? ofNode + ofCopiedNode : ofNode);
  for (const auto *names : {&key.feeds, &key.fetches, &key.targets})
    for (const std::string &name : *names)
      bytes += sizeof(name) + name.size();
  return bytes;
}

Expected<std::shared_ptr<const SessionPlan>> SessionPlans::find(const PlanKey &key) {
  if (auto known = plans.find(key))
    return known;
  SourcePtr source = sourceOf(key);
  SessionPlan made = TREADLE_TRY(make(key, *source));
  size_t bytes = estimatedMemory(key, *made.plan, /*ownsGraph=*/source != whole);
  if (source != whole)
    made.source = std::move(source);
  return plans.add(key, std::make_shared<const SessionPlan>(std::move(made)), bytes);
}

static std::vector<PartialShape> shapesOf(const std::vector<std::string> &feeds,
                                          const ModuleIndex &index) {
  std::vector<PartialShape> shapes;
  for (const std::string &name : feeds)
    shapes.push_back(feedShape(index, nodeOf(name)));
  return shapes;
}

/// Whether runs of the plan may wait for other runs, in this process or another: in ops that wait,
/// exchanges, or user-defined kernels.
bool SessionPlans::mayWait(const Plan &plan) const {
  return plan.mayBlock || options.communicator || properties().hasForeignKernels ||
         std::ranges::any_of(plan.nodes, &PlanNode::waits);
}

Expected<SessionPlan> SessionPlans::make(const PlanKey &key, Source &source) const {
  const ModuleIndex &index = source.graph.impl->index();
  PrunedSubgraph part = TREADLE_TRY(prunedSubgraph(index, key.request()));
  std::shared_ptr<CollectiveAgenda> agenda;
  if (Communicator *world = options.communicator.get()) {
    GraphSpec asWritten = TREADLE_TRY(lower(index, part));
    agenda = collectiveAgenda(asWritten, *source.graph.impl->module, world->size());
  }
  bool isCompiled = fuses() && !fetchesInsideLoops(key);
  planRewrites({.fuses = fuses(),
                .overlap = loopOverlap,
                .clusters = isCompiled ? &source.finder : nullptr,
                .kernels = &kernels})(part, index, source.functions);
  GraphSpec spec = TREADLE_TRY(lower(index, part));
  bool hasReferences = hasReference(spec);
  std::unique_ptr<Plan> built =
      TREADLE_TRY(buildPlan(std::move(spec), {&kernels, &source.functions, ArgMode::Owned,
                                              loopOverlap, options.traits, &source.clusters}));
  auto length = mayWait(*built) ? nullptr : std::make_shared<CallLength>();
  return SessionPlan{nullptr,       std::move(built),  shapesOf(key.feeds, index),
                     hasReferences, std::move(agenda), std::move(length)};
}

} // namespace treadle
