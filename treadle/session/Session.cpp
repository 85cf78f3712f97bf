// Sessions: plans for what is asked, and their runs.
#include "treadle/collective/Communicator.h"
#include "treadle/distributed/Exchanges.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/Origin.h"
#include "treadle/session/ProfileRows.h"
#include "treadle/session/SessionPlans.h"
#include "treadle/session/SessionResources.h"
#include "treadle/session/TraceText.h"

#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"
#include "treadle/runtime/Variable.h"
#include "treadle/treadle.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <system_error>
#include <thread>

namespace treadle {
namespace {

/// Stops a run when its time is over: one thread for all sessions would serve as well, but runs
/// with a deadline are rare.
class Deadline {
public:
  Deadline(RunState &run, double seconds) {
    if (seconds > 0 && seconds < never)
      timer = std::thread([this, &run, seconds] {
        std::unique_lock lock(mutex);
        if (!ended.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return isOver; }))
          run.stop(deadlineExceeded("the run took longer than its timeout of ", seconds, " s"));
      });
  }
  ~Deadline() {
    if (!timer.joinable())
      return;
    {
      std::lock_guard lock(mutex);
      isOver = true;
    }
    ended.notify_all();
    timer.join();
  }

private:
  // Decades, which clocks still can count.
  static constexpr double never = 1e9;

  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false;
  std::thread timer;
};

void printLine(std::string_view line, std::string_view stream) {
  FILE *file = stream == "stdout" ? stdout : stderr;
  std::fwrite(line.data(), 1, line.size(), file);
  std::fflush(file);
}

} // namespace

// More would only wait: for each other, or for the machine.
static constexpr int maxThreads = 1024;

struct Session::Impl {
  Impl(Graph g, SessionOptions o)
      : graph(std::move(g)), options(std::move(o)), plans(graph, options) {
    int threads =
        options.threads ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
    if (options.communicator)
      resources.lookupOrCreate<CommunicatorResource>(
          "", "", [&] { return makeRef<CommunicatorResource>(options.communicator); });
    if (threads > 1)
      pool = std::make_unique<ThreadPool>(std::min(threads, maxThreads) - 1);
    if (options.trace)
      trace = std::make_unique<Trace>();
  }
  ~Impl() { resources.clear(); }

  /// Whoever waits for this rank learns that it won't come.
  void tellOthers(const Error &error) {
    if (options.communicator)
      options.communicator->abort(error);
  }

  const Graph graph;
  const SessionOptions options;
  ResourceManager resources;
  std::unique_ptr<Trace> trace; // null: nobody wants to know
  std::unique_ptr<ThreadPool> pool;
  std::atomic<uint64_t> steps{0};
  SessionPlans plans;

  std::mutex mutex; // guards what follows
  std::set<RunState *> running;
};

ResourceManager &resourcesOf(const Session &session) { return session.impl->resources; }

/// They run as copies with known types, which are made beforehand.
static bool hasGenericFunctions(const Graph &graph) {
  auto isGeneric = [](tfg::FuncOp function) { return function.getGeneric(); };
  return llvm::any_of(graph.impl->module->getOps<tfg::FuncOp>(), isGeneric);
}

Expected<Session> Session::create(Graph graph, SessionOptions options) {
  if (!graph.impl)
    return Unexpected(invalidArgument("the graph is empty; read one with Graph::fromFile"));
  if (options.threads < 0)
    return Unexpected(invalidArgument("threads is ", options.threads, ", expected at least 1"));
  if (!(options.timeout >= 0))
    return Unexpected(
        invalidArgument("timeout is ", options.timeout, ", expected seconds above 0"));
  if (hasGenericFunctions(graph)) {
    Graph closed = TREADLE_TRY(graph.runPasses("tfg-specialize-functions"));
    graph = std::move(closed);
  }
  Expected<Graph> runnable = withoutRegions(graph).and_then([&](const Graph &functional) {
    return withOverlappingLoops(functional, options.loopOverlap, options.traits);
  });
  if (!runnable)
    return Unexpected(std::move(runnable.error()));
  Session session;
  session.impl = std::make_shared<Impl>(std::move(*runnable), std::move(options));
  return session;
}

const Graph &Session::graph() const { return impl->graph; }

std::vector<std::pair<std::string, Tensor>> Session::variables() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto &[name, resource] : impl->resources.all())
    if (resource->kind() == Variable::kindName)
      if (Tensor value = static_cast<const Variable &>(*resource).read(); value)
        out.emplace_back(name, std::move(value));
  return out;
}

Expected<void> Session::setVariable(const std::string &name, Tensor value) {
  Ref<Variable> variable = impl->resources.lookupOrCreate<Variable>(
      "", name, [&] { return makeRef<Variable>(name, value.dtype()); });
  if (variable->dtype != value.dtype())
    return Unexpected(invalidArgument("variable '", name, "' is ", dtypeName(variable->dtype),
                                      ", but its new value is ", tensorTypeText(value)));
  variable->assign(std::move(value));
  return {};
}

void Session::cancel() {
  std::lock_guard lock(impl->mutex);
  for (RunState *run : impl->running)
    run->stop(cancelled("the run was cancelled"));
}

bool Session::isCompiling() const { return impl->plans.numPending() != 0; }

static Error doesNotTrace() {
  return failedPrecondition("the session doesn't trace: make it with trace");
}

Expected<Profile> Session::profile() const {
  return impl->trace ? Expected<Profile>(profileOf(*impl->trace)) : Unexpected(doesNotTrace());
}

Expected<void> Session::forgetTrace() {
  if (!impl->trace)
    return Unexpected(doesNotTrace());
  impl->trace->clear();
  return {};
}

Expected<std::string> Session::trace() const {
  if (!impl->trace)
    return Unexpected(doesNotTrace());
  Ref<ExchangeLog> log = impl->resources.lookup<ExchangeLog>("", "");
  return traceText(*impl->trace, log ? log->exchanges() : std::vector<LoggedExchange>());
}

Expected<CodeProfile> Session::codeProfile() const {
  const codegen::CompileCounters *counters = impl->plans.counters.get();
  if (!counters || !counters->meter)
    return Unexpected(
        failedPrecondition("the session doesn't count what code does: make it with countsCode"));
  return counters->meter->read();
}

Expected<Session::Statistics> Session::statistics() const {
  const codegen::CompileCounters *counters = impl->plans.counters.get();
  if (!counters)
    return Unexpected(failedPrecondition("the session doesn't count: make it with statistics"));
  auto number = [](const auto &count) { return static_cast<int64_t>(count.load()); };
  return Statistics{.runs = number(impl->steps),
                    .compiledCalls = number(counters->calls),
                    .bails = number(counters->bails),
                    .interpretedCalls = number(counters->interpreted),
                    .compilations = number(counters->compilations),
                    .compileSeconds =
                        static_cast<double>(number(counters->compileNanoseconds)) / 1e9,
                    .memoryHits = number(counters->memoryHits),
                    .diskHits = number(counters->diskHits),
                    .pendingCompilations = static_cast<int64_t>(impl->plans.numPending()),
                    .failedCompilations = number(counters->failures),
                    .lastFailure = counters->failure(),
                    .allocations = number(counters->allocations),
                    .allocatedBytes = number(counters->bytes),
                    .copies = number(counters->copies),
                    .reuses = number(counters->reuses),
                    .liveBytes = Tensor::liveBytes()};
}

namespace {

Expected<void> checkFeed(const Graph &graph, const ModuleIndex &index, const std::string &name,
                         const Tensor &value, ValueType want) {
  if (!value)
    return Unexpected(invalidArgument("feed '", name, "' has no value"));
  if (want.dtype == DType::Invalid)
    return Unexpected(
        invalidArgument("feed '", name, "' is of no dtype in the graph; give its node a dtype"));
  if (value.dtype() != want.dtype)
    return Unexpected(invalidArgument("feed '", name, "' is ", tensorTypeText(value),
                                      ", but the graph wants ", dtypeName(want.dtype)));
  Expected<ValueName> parsed = parseValueName(name);
  PartialShape shape = feedShape(index, parsed->node);
  if (!shape.accepts(value.dims()))
    return Unexpected(invalidArgument("feed '", name, "' is ", tensorTypeText(value),
                                      ", but the graph wants the shape ", shape.text()));
  return {};
}

} // namespace

namespace {

// The elements of a v1 variable change in place: what leaves the session must not be among them.
Expected<void> detachFromVariables(Tensor &value, const std::string &fetch, bool hasReferences) {
  if (value.isRef()) {
    Variable &variable = refVariable(value);
    value = variable.read();
    if (!value)
      return Unexpected(failedPrecondition("fetch '", fetch, "': variable '", variable.name,
                                           "' is not initialized; run its initializer first"));
  }
  if (!hasReferences || value.isUnique())
    return {};
  Tensor copy = TREADLE_TRY(value.clone());
  value = std::move(copy);
  return {};
}

} // namespace

Expected<std::vector<Tensor>> Session::run(const std::vector<std::string> &fetches,
                                           const Feeds &feeds,
                                           const std::vector<std::string> &targets) {
  PlanKey key{{}, fetches, targets};
  std::vector<Tensor> args;
  for (const auto &[name, value] : feeds) {
    if (std::find(key.feeds.begin(), key.feeds.end(), name) != key.feeds.end())
      return Unexpected(invalidArgument("'", name, "' is fed twice"));
    key.feeds.push_back(name);
    args.push_back(value);
  }
  Expected<SessionPlan> found = impl->plans.of(key);
  if (!found) {
    impl->tellOthers(found.error());
    return Unexpected(withOrigin(std::move(found.error()), *impl->graph.impl->module));
  }
  const Plan &plan = *found->plan;
  for (size_t i = 0; i < feeds.size(); ++i)
    if (Expected<void> ok = checkFeed(impl->graph, impl->graph.impl->index(), feeds[i].first,
                                      args[i], plan.argTypes[i]);
        !ok) {
      impl->tellOthers(ok.error());
      return Unexpected(std::move(ok.error()));
    }
  if (found->agenda)
    if (Expected<void> ok =
            agreeOnCollectives(*impl->options.communicator, *found->agenda, impl->options.timeout);
        !ok) {
      impl->tellOthers(ok.error());
      return Unexpected(std::move(ok.error()));
    }

  RunState run(impl->resources, impl->pool.get());
  run.step = ++impl->steps;
  run.trace = impl->trace.get();
  run.print = impl->options.print ? impl->options.print : printLine;
  {
    std::lock_guard lock(impl->mutex);
    impl->running.insert(&run);
  }
  auto begin = impl->trace ? Trace::Clock::now() : Trace::Clock::time_point();
  Expected<std::vector<Tensor>> results = [&]() -> Expected<std::vector<Tensor>> {
    try {
      Deadline deadline(run, impl->options.timeout);
      return runPlan(plan, std::move(args), run);
    } catch (const std::bad_alloc &) {
      return Unexpected(resourceExhausted("out of memory"));
    } catch (const std::system_error &error) {
      return Unexpected(resourceExhausted("there is no thread for the timeout: ", error.what()));
    }
  }();
  if (impl->trace) [[unlikely]]
    impl->trace->addRun(begin);
  {
    std::lock_guard lock(impl->mutex);
    impl->running.erase(&run);
  }
  if (!results) {
    impl->tellOthers(results.error());
    return Unexpected(withOrigin(std::move(results.error()), *impl->graph.impl->module));
  }
  for (size_t i = 0; i < results->size(); ++i)
    TREADLE_TRY(detachFromVariables((*results)[i], fetches[i], found->hasReferences));
  return results;
}

std::string_view version() { return "0.1.0"; }

} // namespace treadle
