#include "treadle/session/SessionPlans.h"
#include "treadle/distributed/Exchanges.h"
#include "treadle/session/CallPruning.h"
#include "treadle/session/ChainedFrames.h"
#include "treadle/session/Dissolution.h"

#include "treadle/kernels/Families.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/PlanRewrites.h"

#include <algorithm>

using namespace mlir;

namespace treadle {

/// What the compile thread makes for a request. `module` is written before `isReady`.
struct SessionPlans::Preparation {
  std::atomic<bool> isReady{false};
  Expected<std::shared_ptr<codegen::ClusterModule>> module = nullptr;
};

namespace {

bool hasReference(const GraphSpec &graph) {
  return std::ranges::any_of(graph.nodes, [](const NodeSpec &node) {
    return std::ranges::any_of(node.outputTypes, [](ValueType type) { return type.isRef; }) ||
           (node.loop && (hasReference(node.loop->cond) || hasReference(node.loop->body)));
  });
}

/// A fetch inside a loop looks into what compiled code doesn't show.
bool looksIntoLoops(const PlanKey &key) {
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
      rewrite(planRewrites(fuses(), loopOverlap)), whole(std::make_shared<Source>(*this, graph)) {}

SessionPlans::Source::Source(const SessionPlans &plans, Graph own)
    : graph(std::move(own)), functions(graph.impl->index(), plans.kernels, plans.rewrite,
                                       plans.loopOverlap, plans.options.traits),
      loops(graph.impl->index()) {}

/// The session's graph, or a copy that does and computes nothing in vain.
SessionPlans::SourcePtr SessionPlans::sourceOf(const PlanKey &key) const {
  std::optional<Graph> own = withDissolvedNodes(whole->graph, key.request());
  if (std::optional<Graph> pruned = withPrunedCalls(own ? *own : whole->graph, key.request()))
    own = std::move(pruned);
  return own ? std::make_shared<Source>(*this, std::move(*own)) : whole;
}

SessionPlans::~SessionPlans() {
  if (client)
    client->close();
}

CompilationOptions SessionPlans::compilationOptions() const {
  return {kernels, loopOverlap, options.traits, compileBudget, counters, client, options.fastMath};
}

size_t SessionPlans::numPending() const {
  if (!client)
    return 0;
  std::lock_guard lock(mutex);
  auto isReady = [](const auto &plan) {
    const Preparation *preparation = plan.second.preparation.get();
    return preparation && preparation->isReady.load(std::memory_order_acquire);
  };
  return client->pending() + static_cast<size_t>(std::ranges::count_if(plans, isReady));
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
    auto isAsked = [&](const FinalPlan &known) { return request.is(known.key); };
    auto found = std::ranges::find_if(*own, isAsked);
    if (found != own->end()) {
      std::rotate(own->begin(), found, found + 1);
      return own->front().plan;
    }
  }
  PlanKey key = request.key();
  Entry entry = TREADLE_TRY(find(key));
  if (!entry.isFinal)
    return std::move(entry.plan);
  std::shared_ptr<const SessionPlan> share = ownShare(std::move(entry.plan));
  if (auto own = recent.tryTake()) {
    if (own->size() == mostRecent)
      own->pop_back();
    own->insert(own->begin(), {std::move(key), share});
  }
  return share;
}

Expected<SessionPlans::Entry> SessionPlans::find(const PlanKey &key) {
  std::shared_ptr<Preparation> prepared;
  {
    std::lock_guard lock(mutex);
    if (auto it = plans.find(key); it != plans.end()) {
      prepared = advance(key, it->second);
      if (!prepared)
        return it->second;
    }
  }
  if (prepared)
    return finish(key, *prepared);
  Entry made = TREADLE_TRY(make(key));
  std::lock_guard lock(mutex);
  return plans.try_emplace(key, std::move(made)).first->second;
}

Expected<SessionPlans::Entry> SessionPlans::make(const PlanKey &key) {
  bool hasLoop = false;
  SourcePtr source = sourceOf(key);
  const Graph &graph = source->graph;
  SessionPlan plan = TREADLE_TRY(interpreted(key, source, hasLoop));
  bool mayCompile = fuses() && hasLoop && !looksIntoLoops(key);
  if (loopOverlap == LoopOverlap::On && tfg::hasFrames(*graph.impl->module)) {
    auto over = TREADLE_TRY(chained(key, graph));
    if (over) {
      plan.plan = {over, over->plan.get()};
      mayCompile &= waits();
    }
  }
  if (mayCompile && waits()) {
    auto over = TREADLE_TRY(compiled(key, graph));
    if (over)
      plan.plan = {over, over->plan.get()};
    mayCompile = false;
  }
  return Entry{.plan = std::make_shared<const SessionPlan>(std::move(plan)),
               .source = std::move(source),
               .mayCompile = mayCompile};
}

static std::vector<PartialShape> shapesOf(const std::vector<std::string> &feeds,
                                          const ModuleIndex &index) {
  std::vector<PartialShape> shapes;
  for (const std::string &name : feeds)
    shapes.push_back(feedShape(index, nodeOf(name)));
  return shapes;
}

/// Whether runs of the plan may wait for other runs, in this process or another: by ops that wait,
/// by exchanges, or by kernels of somebody else.
bool SessionPlans::mayWait(const Plan &plan) const {
  auto isForeign = [&](const GraphSummary::Count &count) {
    return options.kernels && options.kernels->find(count.op) != builtinKernels().find(count.op);
  };
  return plan.mayBlock || options.communicator ||
         std::ranges::any_of(plan.nodes, &PlanNode::waits) ||
         std::ranges::any_of(summarize(whole->graph).ops, isForeign);
}

Expected<SessionPlan> SessionPlans::interpreted(const PlanKey &key, const SourcePtr &source,
                                                bool &hasLoop) {
  auto &[graph, functions, loops] = *source;
  const ModuleIndex &index = graph.impl->index();
  NeededPart part = TREADLE_TRY(neededPart(index, key.request()));
  {
    std::lock_guard lock(mutex);
    hasLoop = loops.isIn(part);
  }
  std::shared_ptr<CollectiveAgenda> agenda;
  if (Communicator *world = options.communicator.get()) {
    GraphSpec asWritten = TREADLE_TRY(lower(index, part));
    agenda = collectiveAgenda(asWritten, *graph.impl->module, world->size());
  }
  rewrite(part, index, functions);
  GraphSpec spec = TREADLE_TRY(lower(index, part));
  bool hasReferences = hasReference(spec);
  std::unique_ptr<Plan> built = TREADLE_TRY(buildPlan(
      std::move(spec), {&kernels, &functions, ArgMode::Owned, loopOverlap, options.traits}));
  auto length = mayWait(*built) ? nullptr : std::make_shared<CallLength>();
  return SessionPlan{std::move(built), shapesOf(key.feeds, index), hasReferences, std::move(agenda),
                     std::move(length)};
}

Expected<std::shared_ptr<CompiledPlan>> SessionPlans::chained(const PlanKey &key,
                                                              const Graph &graph) {
  return planWithChains(graph, key.request(), fuses(), {kernels, loopOverlap, options.traits});
}

Expected<std::shared_ptr<CompiledPlan>> SessionPlans::compiled(const PlanKey &key,
                                                               const Graph &graph) {
  return outlineClusters(graph, key.request())
      .and_then([&](std::shared_ptr<codegen::ClusterModule> outlined) {
        return outlined ? planCompiled(std::move(outlined), key.request(), compilationOptions())
                        : std::shared_ptr<CompiledPlan>();
      });
}

// --- beside the runs -----------------------------------------------------------------------------

/// With the lock. What is ready, for the one caller that goes on with it; else null.
std::shared_ptr<SessionPlans::Preparation> SessionPlans::advance(const PlanKey &key, Entry &entry) {
  if (std::exchange(entry.mayCompile, false)) {
    entry.preparation = prepare(key, entry.source->graph);
    entry.isFinal = !entry.preparation;
    return nullptr;
  }
  if (!entry.preparation || !entry.preparation->isReady.load(std::memory_order_acquire))
    return nullptr;
  return std::exchange(entry.preparation, nullptr);
}

std::shared_ptr<SessionPlans::Preparation> SessionPlans::prepare(const PlanKey &key,
                                                                 const Graph &graph) {
  auto preparation = std::make_shared<Preparation>();
  bool isTaken =
      client->submit([preparation, graph, request = key.request()](codegen::CompileClient &client) {
        if (client.isCancelled())
          return;
        codegen::CompileClient::betweenForks(
            [&] { preparation->module = outlineClusters(graph, request); });
        preparation->isReady.store(true, std::memory_order_release);
      });
  return isTaken ? preparation : nullptr;
}

/// Where compiling fails, the plan that is there stays.
SessionPlans::Entry SessionPlans::finish(const PlanKey &key, Preparation &prepared) {
  Expected<std::shared_ptr<CompiledPlan>> made =
      std::move(prepared.module).and_then([&](std::shared_ptr<codegen::ClusterModule> outlined) {
        return outlined ? planCompiled(std::move(outlined), key.request(), compilationOptions())
                        : std::shared_ptr<CompiledPlan>();
      });
  if (!made && counters)
    counters->addFailure(made.error().message);
  std::lock_guard lock(mutex);
  Entry &entry = plans.find(key)->second;
  if (made && *made) {
    SessionPlan plan = *entry.plan;
    plan.plan = {*made, (*made)->plan.get()};
    entry.plan = std::make_shared<const SessionPlan>(std::move(plan));
  }
  entry.isFinal = true;
  return entry;
}

} // namespace treadle
