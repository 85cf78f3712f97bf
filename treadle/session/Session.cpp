// Sessions: plans for requests, and their runs.
#include "treadle/collective/Communicator.h"
#include "treadle/distributed/Exchanges.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/Origin.h"
#include "treadle/graph/StarvedNodes.h"
#include "treadle/session/Deadline.h"
#include "treadle/session/MissingKernels.h"
#include "treadle/session/ProfileRows.h"
#include "treadle/session/SessionFiles.h"
#include "treadle/session/SessionPlans.h"
#include "treadle/session/SessionResources.h"
#include "treadle/session/SharedSession.h"
#include "treadle/session/TraceText.h"
#include "treadle/transforms/select_implementations/SelectImplementations.h"

#include "treadle/kernels/state/LookupTable.h"
#include "treadle/runtime/ComputePermits.h"
#include "treadle/runtime/Cores.h"
#include "treadle/runtime/DenormalScope.h"
#include "treadle/runtime/InstructionSet.h"
#include "treadle/runtime/Run.h"
#include "treadle/runtime/ThreadPool.h"
#include "treadle/runtime/Variable.h"
#include "treadle/treadle.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unordered_set>

namespace treadle {
namespace {

void printLine(std::string_view line, std::string_view stream) {
  FILE *file = stream == "stdout" ? stdout : stderr;
  std::fwrite(line.data(), 1, line.size(), file);
  std::fflush(file);
}

} // namespace

// More threads would only compete for the processors.
static constexpr int maxThreads = 1024;

/// A graph with its plans.
struct LoadedGraph {
  LoadedGraph(Graph g, const SessionOptions &options)
      : graph(std::move(g)), plans(graph, options) {}

  const Graph graph;
  SessionPlans plans;
};

/// The state that sessions with common variables, queues and tables share.
struct SessionState {
  /// `shared`: the threads of runs; null if the session has its own threads.
  SessionState(const Graph &graph, SessionOptions o,
               std::optional<std::shared_ptr<ThreadPool>> shared)
      : options(std::move(o)), files(filesFor(graph, options.permissions)),
        budget(options.memory ? std::make_unique<MemoryBudget>(options.memory) : nullptr) {
    if (options.communicator)
      resources.lookupOrCreate<CommunicatorResource>(
          "", "", [&] { return makeRef<CommunicatorResource>(options.communicator); });
    pool = shared ? std::move(*shared) : ownPool();
    if (options.trace)
      trace = std::make_unique<Trace>();
  }
  ~SessionState() { resources.clear(); }
  SessionState(const SessionState &) = delete;
  SessionState &operator=(const SessionState &) = delete;

  LoadedGraph &add(Graph graph) {
    std::lock_guard lock(programsMutex);
    return *programs.emplace_back(std::make_unique<LoadedGraph>(std::move(graph), options));
  }

  /// Null if memory isn't counted.
  MemoryBudget::Account *account() const { return budget ? &budget->get() : nullptr; }

  /// Null if runs use their caller's thread alone.
  std::shared_ptr<ThreadPool> ownPool() const {
    int cores = options.cores.empty() ? availableCores() : static_cast<int>(options.cores.size());
    int threads = options.threads ? options.threads : cores;
    if (threads <= 1)
      return nullptr;
    auto destroy = [](ThreadPool *pool) {
      if (!pool->isForked())
        delete pool;
    };
    return {new ThreadPool(std::min(threads, maxThreads) - 1, options.cores, account()), destroy};
  }

  /// Tells ranks that wait for this one that it has failed.
  void abortPeers(const Error &error) {
    if (options.communicator)
      options.communicator->abort(error);
  }

  const SessionOptions options;
  const FileAccess files;
  const std::unique_ptr<MemoryBudget> budget; // null: unlimited and not counted
  ResourceManager resources;
  std::unique_ptr<Trace> trace; // null: not traced
  std::shared_ptr<ThreadPool> pool;
  std::mutex programsMutex;
  std::vector<std::unique_ptr<LoadedGraph>> programs; // after the resources, which may be
                                                      // referenced by plans
  /// The state of each calling thread.
  struct Caller {
    uint64_t runs = 0;
    std::vector<RunState *> running; // several threads may share a number
  };
  ThreadSlots<Caller> callers;
};

struct Session::Impl {
  const std::shared_ptr<SessionState> state;
  LoadedGraph &program; // belongs to the state
};

namespace {

/// Registers a run as in progress during its lifetime, and assigns its number.
class RunningScope {
public:
  RunningScope(const ThreadSlots<SessionState::Caller> &callers, RunState &run)
      : callers(callers), run(run) {
    auto own = callers.take(run.caller);
    own->running.push_back(&run);
    run.step = ++own->runs * maxThreadSlots + static_cast<uint64_t>(run.caller);
  }
  ~RunningScope() { std::erase(callers.take(run.caller)->running, &run); }
  /// Whether the length of this run is measured, as a sample of the runs of its thread.
  bool isSample() const { return run.step / maxThreadSlots % samplingPeriod == 1; }
  RunningScope(const RunningScope &) = delete;
  RunningScope &operator=(const RunningScope &) = delete;

private:
  static constexpr uint64_t samplingPeriod = 64;
  const ThreadSlots<SessionState::Caller> &callers;
  RunState &run;
};

/// A scope in which a run computes. Takes a permit if such runs are known to take long.
class ComputingScope {
public:
  ComputingScope(RunState &run, CallLength *length, bool measures)
      : length(measures ? length : nullptr) {
    if (length && length->isLong.load(std::memory_order_relaxed))
      runPermit.emplace(run);
    computing.emplace();
    if (this->length)
      begin = processorTime();
  }
  ~ComputingScope() {
    if (!length)
      return;
    bool isLong = processorTime() - begin > longest;
    if (length->isLong.load(std::memory_order_relaxed) != isLong)
      length->isLong.store(isLong, std::memory_order_relaxed);
  }
  ComputingScope(const ComputingScope &) = delete;
  ComputingScope &operator=(const ComputingScope &) = delete;

private:
  /// Handing over a permit may make the system wake its thread on another core and migrate others.
  /// That costs as much as a context switch between runs, of which there would be one each 10 ms.
  static constexpr double longest = 20e-3;

  /// CPU time of this thread in seconds.
  static double processorTime() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  CallLength *length; // null unless the length is measured
  std::optional<ComputePermit> runPermit;
  std::optional<ComputeScope> computing;
  double begin = 0;
};

} // namespace

ResourceManager &resourcesOf(const Session &session) { return session.impl->state->resources; }

/// Generic functions run as copies with known types, which are made in advance.
static bool hasGenericFunctions(const Graph &graph) {
  auto isGeneric = [](tfg::FuncOp function) { return function.getGeneric(); };
  return llvm::any_of(graph.impl->module->getOps<tfg::FuncOp>(), isGeneric);
}

/// Returns the graph in the form that plans are built from.
static Expected<Graph> runnableForm(Graph graph, const SessionOptions &options) {
  if (tfg::callsOtherImplementations(*graph.impl->module)) {
    Graph chosen = TREADLE_TRY(graph.runPasses("tfg-select-implementations"));
    graph = std::move(chosen);
  }
  if (hasGenericFunctions(graph)) {
    Graph closed = TREADLE_TRY(graph.runPasses("tfg-specialize-functions"));
    graph = std::move(closed);
  }
  return withoutEmbeddedPrograms(graph)
      .and_then(withoutRegions)
      .and_then([&](const Graph &functional) {
        return withOverlappingLoops(functional, options.loopOverlap, options.traits);
      });
}

static Expected<Session> createWith(Graph graph, SessionOptions options,
                                    std::optional<std::shared_ptr<ThreadPool>> pool) {
  if (!graph.impl)
    return Unexpected(invalidArgument("the graph is empty; read one with Graph::fromFile"));
  if (const auto &request = requestedInstructionSet(); !request)
    return Unexpected(request.error());
  if (options.threads < 0)
    return Unexpected(invalidArgument("threads is ", options.threads, ", expected at least 1"));
  TREADLE_TRY(checkCores(options.cores));
  if (options.memory < 0)
    return Unexpected(invalidArgument("memory is ", options.memory, " bytes, expected at least 1"));
  if (!(options.timeout >= 0))
    return Unexpected(
        invalidArgument("timeout is ", options.timeout, ", expected a number of seconds above 0"));
  Graph runnable = TREADLE_TRY(runnableForm(std::move(graph), options));
  auto state = std::make_shared<SessionState>(runnable, std::move(options), std::move(pool));
  LoadedGraph &program = state->add(std::move(runnable));
  Session session;
  session.impl = std::make_shared<Session::Impl>(std::move(state), program);
  return session;
}

Expected<Session> sessionSharingState(const Session &session, Graph graph) {
  const std::shared_ptr<SessionState> &state = session.impl->state;
  Graph runnable = TREADLE_TRY(runnableForm(std::move(graph), state->options));
  Session other;
  other.impl = std::make_shared<Session::Impl>(state, state->add(std::move(runnable)));
  return other;
}

Expected<Session> Session::create(Graph graph, SessionOptions options) {
  return createWith(std::move(graph), std::move(options), std::nullopt);
}

Expected<Session> createSession(Graph graph, SessionOptions options,
                                std::shared_ptr<ThreadPool> pool) {
  return createWith(std::move(graph), std::move(options), std::move(pool));
}

const Graph &Session::graph() const { return impl->program.graph; }

std::vector<std::pair<std::string, Tensor>> Session::variables() const {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto &[name, resource] : impl->state->resources.all())
    if (resource->kind() == Variable::kindName)
      if (Tensor value = static_cast<const Variable &>(*resource).read(); value)
        out.emplace_back(name, std::move(value));
  return out;
}

std::vector<Session::TableContents> Session::tables() const {
  std::vector<TableContents> out;
  for (const auto &[name, resource] : impl->state->resources.all())
    if (resource->kind() == LookupTable::kindName)
      if (auto contents = static_cast<const LookupTable &>(*resource).contents())
        out.push_back({name, std::move(contents->first), std::move(contents->second)});
  return out;
}

Expected<void> Session::setVariable(const std::string &name, Tensor value) {
  Ref<Variable> variable = impl->state->resources.lookupOrCreate<Variable>(
      "", name, [&] { return makeRef<Variable>(name, value.dtype()); });
  if (variable->dtype != value.dtype())
    return Unexpected(invalidArgument("variable '", name, "' is ", dtypeName(variable->dtype),
                                      ", but its new value is ", tensorTypeText(value)));
  variable->assign(std::move(value));
  return {};
}

void Session::cancel() {
  impl->state->callers.forEach([](SessionState::Caller &caller) {
    for (RunState *run : caller.running)
      run->stop(cancelled("the run was cancelled"));
  });
}

bool Session::isCompiling() const { return impl->program.plans.numPending() != 0; }

static Error tracingDisabled() {
  return failedPrecondition("tracing is off; create the session with the option 'trace'");
}

Expected<Profile> Session::profile() const {
  return impl->state->trace ? Expected<Profile>(profileOf(*impl->state->trace))
                            : Unexpected(tracingDisabled());
}

Expected<void> Session::forgetTrace() {
  if (!impl->state->trace)
    return Unexpected(tracingDisabled());
  impl->state->trace->clear();
  return {};
}

Expected<std::string> Session::trace() const {
  if (!impl->state->trace)
    return Unexpected(tracingDisabled());
  Ref<ExchangeLog> log = impl->state->resources.lookup<ExchangeLog>("", "");
  return traceText(*impl->state->trace, log ? log->exchanges() : std::vector<LoggedExchange>());
}

Expected<CodeProfile> Session::codeProfile() const {
  const codegen::CompileCounters *counters = impl->program.plans.counters.get();
  if (!counters || !counters->meter)
    return Unexpected(failedPrecondition(
        "compiled code isn't counted; create the session with the option 'countsCode'"));
  return counters->meter->read();
}

Expected<Session::Statistics> Session::statistics() const {
  const codegen::CompileCounters *counters = impl->program.plans.counters.get();
  if (!counters)
    return Unexpected(
        failedPrecondition("statistics are off; create the session with the option 'statistics'"));
  auto number = [](const auto &count) { return static_cast<int64_t>(count.load()); };
  int64_t runs = 0;
  impl->state->callers.forEach(
      [&](SessionState::Caller &caller) { runs += static_cast<int64_t>(caller.runs); });
  return Statistics{.runs = runs,
                    .compiledCalls = number(counters->calls),
                    .bails = number(counters->bails),
                    .interpretedCalls = number(counters->interpreted),
                    .compilations = number(counters->compilations),
                    .compileSeconds =
                        static_cast<double>(number(counters->compileNanoseconds)) / 1e9,
                    .memoryHits = number(counters->memoryHits),
                    .diskHits = number(counters->diskHits),
                    .pendingCompilations = static_cast<int64_t>(impl->program.plans.numPending()),
                    .failedCompilations = number(counters->failures),
                    .lastFailure = counters->failure(),
                    .allocations = number(counters->allocations),
                    .allocatedBytes = number(counters->bytes),
                    .copies = number(counters->copies),
                    .reuses = number(counters->reuses),
                    .liveBytes = Tensor::liveBytes()};
}

namespace {

Expected<void> checkFeed(const std::string &name, const Tensor &value, ValueType want,
                         const PartialShape &shape) {
  if (!value)
    return Unexpected(invalidArgument("feed '", name, "' has no value"));
  if (want.dtype == DType::Invalid)
    return Unexpected(
        invalidArgument("feed '", name, "' has no dtype in the graph; give its node a dtype"));
  if (value.dtype() != want.dtype)
    return Unexpected(invalidArgument("feed '", name, "' is ", tensorTypeText(value),
                                      ", but the graph expects ", dtypeName(want.dtype)));
  if (!shape.accepts(value.dims()))
    return Unexpected(invalidArgument("feed '", name, "' is ", tensorTypeText(value),
                                      ", but the graph expects the shape ", shape.text()));
  return {};
}

} // namespace

namespace {

// Elements of a v1 variable change in place, so a result must not share its buffer.
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

const FileAccess &filesOf(const Session &session) { return session.impl->state->files; }

Expected<std::vector<Tensor>> Session::run(const std::vector<std::string> &fetches,
                                           const Feeds &feeds,
                                           const std::vector<std::string> &targets) {
  return runWithFiles(*this, impl->state->files, fetches, feeds, targets);
}

/// Null if the names are distinct.
static const std::string *duplicateFeed(const Session::Feeds &feeds) {
  constexpr size_t few = 16; // below this number, pairwise comparison is faster than sorting
  if (feeds.size() <= few) {
    for (auto feed = feeds.begin(); feed != feeds.end(); ++feed)
      if (std::any_of(feeds.begin(), feed,
                      [&](const auto &other) { return other.first == feed->first; }))
        return &feed->first;
    return nullptr;
  }
  std::unordered_set<std::string_view> names;
  for (const auto &[name, value] : feeds)
    if (!names.insert(name).second)
      return &name;
  return nullptr;
}

/// Adds explanations to an error of a run.
static Error withExplanations(Error error, const Session &session, std::vector<std::string> names,
                              const std::vector<std::string> &targets) {
  const auto &[state, program] = *session.impl;
  names.insert(names.end(), targets.begin(), targets.end());
  const KernelRegistry *kernels = state->options.kernels;
  const Graph::Impl &graph = *program.graph.impl;
  error = withStarvedNodes(std::move(error), *graph.module, graph.index(), names);
  return withMissingKernels(withOrigin(std::move(error), *graph.module), graph.index(),
                            std::move(names), kernels ? *kernels : builtinKernels());
}

/// `args`: the values of `feeds`, whose own values may be empty.
static Expected<std::vector<Tensor>> runThrowing(Session &session, const FileAccess &files,
                                                 const std::vector<std::string> &fetches,
                                                 const Session::Feeds &feeds,
                                                 std::vector<Tensor> args,
                                                 const std::vector<std::string> &targets) {
  auto &[shared, program] = *session.impl;
  SessionState &state = *shared;
  if (state.pool && state.pool->isForked())
    return Unexpected(failedPrecondition(
        "the session was created before this process was forked, and its threads don't exist "
        "here; create it after the fork, or start processes without fork (in Python with "
        "multiprocessing's 'spawn')"));
  MemoryBudget::Scope budget(state.account());
  DenormalScope denormals(state.options.denormals);
  if (const std::string *name = duplicateFeed(feeds))
    return Unexpected(invalidArgument("'", *name, "' is fed twice"));
  auto planned = program.plans.of({fetches, feeds, targets});
  if (!planned) {
    state.abortPeers(planned.error());
    return Unexpected(withExplanations(std::move(planned.error()), session, fetches, targets));
  }
  const SessionPlan *found = planned->get();
  const Plan &plan = *found->plan;
  for (size_t i = 0; i < feeds.size(); ++i)
    if (Expected<void> ok =
            checkFeed(feeds[i].first, args[i], plan.argTypes[i], found->feedShapes[i]);
        !ok) {
      state.abortPeers(ok.error());
      return Unexpected(std::move(ok.error()));
    }
  if (found->agenda)
    if (Expected<void> ok =
            agreeOnCollectives(*state.options.communicator, *found->agenda, state.options.timeout);
        !ok) {
      state.abortPeers(ok.error());
      return Unexpected(std::move(ok.error()));
    }

  RunState run(state.resources, state.pool.get());
  run.files = &files;
  run.mayReadClock = state.options.permissions.clock;
  run.trace = state.trace.get();
  run.print = state.options.print ? state.options.print : printLine;
  auto begin = Trace::now(state.trace.get());
  Expected<std::vector<Tensor>> results = [&] {
    RunningScope running(state.callers, run);
    Deadline deadline(run, state.options.timeout);
    ComputingScope computing(run, found->length.get(), running.isSample());
    return plan.run(std::move(args), run);
  }();
  if (state.trace) [[unlikely]]
    state.trace->addRun(begin);
  if (!results) {
    state.abortPeers(results.error());
    return Unexpected(withExplanations(std::move(results.error()), session, fetches, targets));
  }
  for (size_t i = 0; i < results->size(); ++i)
    TREADLE_TRY(detachFromVariables((*results)[i], fetches[i], found->hasReferences));
  return results;
}

/// `arguments()` returns the values of `feeds`.
template <typename Arguments>
static Expected<std::vector<Tensor>> runCatching(Session &session, const FileAccess &files,
                                                 const std::vector<std::string> &fetches,
                                                 const Session::Feeds &feeds, Arguments arguments,
                                                 const std::vector<std::string> &targets) {
  auto failed = [&](Error error) {
    session.impl->state->abortPeers(error);
    return Unexpected(std::move(error));
  };
  try {
    return runThrowing(session, files, fetches, feeds, arguments(), targets);
  } catch (const std::bad_alloc &thrown) {
    return failed(memoryError(thrown));
  } catch (const std::system_error &thrown) {
    return failed(resourceExhausted("can't start a thread for the timeout: ", thrown.what()));
  }
}

Expected<std::vector<Tensor>> runWithFiles(Session &session, const FileAccess &files,
                                           const std::vector<std::string> &fetches,
                                           const Session::Feeds &feeds,
                                           const std::vector<std::string> &targets) {
  auto copies = [&] {
    std::vector<Tensor> args;
    for (const auto &[name, value] : feeds)
      args.push_back(value);
    return args;
  };
  return runCatching(session, files, fetches, feeds, copies, targets);
}

Expected<std::vector<Tensor>> runTaking(Session &session, const std::vector<std::string> &fetches,
                                        Session::Feeds feeds) {
  auto own = [&] {
    std::vector<Tensor> args;
    for (auto &[name, value] : feeds)
      args.push_back(std::move(value));
    return args;
  };
  return runCatching(session, session.impl->state->files, fetches, feeds, own, {});
}

Expected<void> plan(Session &session, const std::vector<std::string> &fetches,
                    const std::vector<std::string> &feeds) {
  Session::Feeds named;
  for (const std::string &name : feeds)
    named.emplace_back(name, Tensor());
  DenormalScope denormals(session.impl->state->options.denormals);
  auto planned = session.impl->program.plans.of({fetches, named, {}});
  if (!planned)
    return Unexpected(
        withOrigin(std::move(planned.error()), *session.impl->program.graph.impl->module));
  return {};
}

std::string_view version() { return "0.1.0"; }

} // namespace treadle
