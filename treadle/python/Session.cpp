// treadle.Session.
#include "treadle/collective/Communicator.h"
#include "treadle/ops/OpTable.h"
#include "treadle/python/Arrays.h"
#include "treadle/python/Errors.h"
#include "treadle/python/Interrupt.h"
#include "treadle/python/Module.h"
#include "treadle/runtime/ValueName.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>

namespace nb = nanobind;

namespace treadle::python {

namespace {

class PySession {
public:
  /// `lacksModelState`: created from a graph, so that the variables of a SavedModel were not
  /// restored.
  PySession(Session session, std::shared_ptr<const RegisteredOps> ops,
            bool lacksModelState = false);

  nb::object run(nb::handle fetches, nb::handle feeds, nb::handle targets);
  void cancel() { session.cancel(); }
  const Graph &graph() const { return session.graph(); }
  nb::dict variables() const;
  bool isCompiling() const { return session.isCompiling(); }
  Session::Statistics statistics() const { return orRaise(session.statistics()); }
  std::string trace() const { return orRaise(session.trace()); }
  nb::object profile(const std::string &by, const std::string &sort, int64_t rows) const;
  void forgetTrace() { orRaise(session.forgetTrace()); }
  Graph freeze(const Graph &graph, std::vector<std::string> fetches,
               std::vector<std::string> feeds) const {
    return orRaise(treadle::freeze(
        graph, {std::move(fetches), std::move(feeds), session.variables(), session.tables()}));
  }

private:
  Session::Feeds convertFeeds(nb::handle feeds) const;
  std::vector<Tensor> runFed(const std::vector<std::string> &fetches, const Session::Feeds &feeds,
                             const std::vector<std::string> &targets);

  std::shared_ptr<const RegisteredOps> ops; // declared before the session, which refers to it
  Session session;
  std::map<std::string, DType, std::less<>> inputTypes;
  bool mayShareFeeds, lacksModelState;
};

constexpr const char *loadAdvice =
    "a Session doesn't restore the variables or initialize the tables of a SavedModel; use "
    "treadle.load(FOLDER), whose .session runs any tensor";

// Copy the array: a variable that shares its memory would change with the array.
bool isStateless(const Graph &graph) {
  return std::ranges::all_of(summarize(graph).ops, [](const GraphSummary::Count &count) {
    const OpDef *op = lookupOp(count.op);
    return op && (!op->isStateful() || op->facts().forgets);
  });
}

// Whether the graph has variables and tables that only a model initializes.
bool hasState(const Graph &graph) {
  GraphSummary summary = summarize(graph);
  return !summary.variables.empty() || std::ranges::any_of(summary.ops, [](const auto &count) {
    const OpDef *op = lookupOp(count.op);
    return op && op->makes() == "table";
  });
}

// Raises an error for a SavedModel with state that is read directly from a file, whose runs could
// only fail. In a Graph, passes may have removed the state.
void rejectModelWithState(nb::handle given, const Graph &graph) {
  if (!nb::isinstance<Graph>(given) && graph.isSavedModel() && hasState(graph))
    raise(invalidArgument("the graph is a SavedModel with variables or tables, and ", loadAdvice));
}

PySession::PySession(Session made, std::shared_ptr<const RegisteredOps> ops, bool lacksModelState)
    : ops(std::move(ops)), session(std::move(made)), mayShareFeeds(isStateless(session.graph())),
      lacksModelState(lacksModelState) {
  for (const Graph::Value &input : session.graph().inputs())
    inputTypes.emplace(input.name, input.dtype);
}

nb::object PySession::profile(const std::string &by, const std::string &sort, int64_t rows) const {
  Profile::By shownBy = orRaise(parseProfileBy(by));
  Profile::Sort order = orRaise(parseProfileSort(sort));
  if (rows < 1)
    throw nb::value_error(str("rows is ", rows, ", expected at least 1").c_str());
  Profile found = orRaise(session.profile());
  nb::object module = nb::module_::import_("treadle");
  auto tupleOf = [&](std::vector<Profile::Row> all) {
    sortRows(all, order);
    nb::list out;
    for (const Profile::Row &row : all)
      out.append(module.attr("ProfileRow")(
          row.name, row.op, row.calls, row.own, row.all, row.wait, row.bytes,
          row.isCluster ? nb::object(nb::int_(row.compiledCalls)) : nb::none(), row.contents));
    return nb::tuple(out);
  };
  return module.attr("Profile")(found.runs, found.seconds, found.measuring, found.leftOut,
                                tupleOf(found.nodes), tupleOf(found.ops()),
                                found.text(shownBy, order, static_cast<size_t>(rows)));
}

Session::Feeds PySession::convertFeeds(nb::handle feeds) const {
  Session::Feeds out;
  if (feeds.is_none())
    return out;
  if (!PyDict_Check(feeds.ptr()))
    raiseTypeError(str("feeds is a ", typeName(feeds), ", expected a dict of names and arrays"));
  for (auto [key, value] : nb::borrow<nb::dict>(feeds)) {
    if (!PyUnicode_Check(key.ptr()))
      raiseTypeError(str("a key of feeds is a ", typeName(key), ", expected a name such as 'x:0'"));
    std::string name = toName(key, "feeds");
    TensorConversion request{str("feed '", name, "'"), std::nullopt, mayShareFeeds};
    if (auto it = inputTypes.find(withOutput(name)); it != inputTypes.end())
      request.want = it->second;
    Tensor tensor = toTensor(value, request);
    out.emplace_back(std::move(name), std::move(tensor));
  }
  return out;
}

std::vector<std::string> names(nb::handle list, const char *what) {
  std::vector<std::string> out;
  if (list.is_none())
    return out;
  if (!nb::hasattr(list, "__iter__"))
    raiseTypeError(
        str(what, " is a ", typeName(list), ", expected a name such as 'x:0', or a list of names"));
  for (nb::handle item : nb::iter(list)) {
    if (!PyUnicode_Check(item.ptr()))
      raiseTypeError(str(what, " contains a ", typeName(item), ", expected names such as 'x:0'"));
    out.push_back(toName(item, what));
  }
  return out;
}

std::vector<Tensor> PySession::runFed(const std::vector<std::string> &fetches,
                                      const Session::Feeds &feeds,
                                      const std::vector<std::string> &targets) {
  Expected<std::vector<Tensor>> results = [&] {
    InterruptScope interruptible(session);
    nb::gil_scoped_release release;
    return session.run(fetches, feeds, targets);
  }();
  if (PyErr_CheckSignals())
    throw nb::python_error();
  bool lacksState = !results && (results.error().code == Code::FailedPrecondition ||
                                 results.error().code == Code::NotFound);
  if (lacksState && lacksModelState && session.graph().isSavedModel())
    results.error().message += str("; ", loadAdvice);
  return orRaise(std::move(results));
}

nb::dict PySession::variables() const {
  nb::dict out;
  for (auto &[name, value] : session.variables())
    out[name.c_str()] = toReadOnlyArray(value, str("variable '", name, "'"));
  return out;
}

nb::object PySession::run(nb::handle fetches, nb::handle feeds, nb::handle targets) {
  bool isSingle = PyUnicode_Check(fetches.ptr());
  std::vector<std::string> wanted =
      isSingle ? std::vector{toName(fetches, "fetches")} : names(fetches, "fetches");
  std::vector<std::string> also = PyUnicode_Check(targets.ptr())
                                      ? std::vector{toName(targets, "targets")}
                                      : names(targets, "targets");
  // Keep the feeds until the results are converted, so that a result that is a feed is known to be
  // shared.
  Session::Feeds fed = convertFeeds(feeds);
  std::vector<Tensor> results = runFed(wanted, fed, also);
  nb::list arrays;
  for (size_t i = 0; i < results.size(); ++i) {
    nb::object array = toArray(std::move(results[i]), str("fetch '", wanted[i], "'"));
    if (isSingle)
      return array;
    arrays.append(std::move(array));
  }
  return arrays;
}

} // namespace

// A str may contain unpaired surrogates, which UTF-8 can't represent.
std::string toName(nb::handle name, const char *what) {
  if (!PyUnicode_Check(name.ptr()))
    raiseTypeError(str("a name in ", what, " is a ", typeName(name), ", expected a str"));
  Py_ssize_t size;
  if (const char *utf8 = PyUnicode_AsUTF8AndSize(name.ptr(), &size))
    return {utf8, static_cast<size_t>(size)};
  nb::python_error error;
  raise(invalidArgument("a name in ", what, " is not valid Unicode: ", toError(error).message));
}

static std::vector<std::string> toPaths(nb::handle paths, const char *option) {
  std::vector<std::string> all;
  if (nb::isinstance<nb::str>(paths) || nb::hasattr(paths, "__fspath__")) {
    all.push_back(toPath(paths));
    return all;
  }
  if (!nb::isinstance<nb::sequence>(paths))
    raiseTypeError(str(option, " is a ", typeName(paths), ", expected a path or a list of paths"));
  for (nb::handle path : nb::cast<nb::sequence>(paths))
    all.push_back(toPath(path));
  return all;
}

Permissions toPermissions(nb::handle allowRead, nb::handle allowWrite, bool allowClock) {
  return {toPaths(allowRead, "allow_read"), toPaths(allowWrite, "allow_write"), allowClock};
}

SessionOptions sessionOptions(std::optional<int> threads, std::optional<std::vector<int>> cores,
                              const std::string &tier, const std::string &loopOverlap,
                              std::optional<double> timeout, bool statistics, bool trace,
                              bool fastMath, const std::string &denormals,
                              std::optional<int64_t> memory, Permissions permissions,
                              const RegisteredOps &ops) {
  SessionOptions options;
  options.loopOverlap = orRaise(parseLoopOverlap(loopOverlap));
  options.threads = threads.value_or(0);
  options.cores = std::move(cores).value_or(std::vector<int>());
  options.tier = orRaise(parseTier(tier));
  options.timeout = timeout.value_or(0);
  options.statistics = statistics;
  options.trace = trace;
  options.fastMath = fastMath;
  options.denormals = orRaise(parseDenormals(denormals));
  options.memory = memory.value_or(0);
  options.permissions = std::move(permissions);
  options.kernels = &ops.kernels;
  options.traits = &ops.traits;
  return options;
}

nb::object toSession(Session session, std::shared_ptr<const RegisteredOps> ops) {
  return nb::cast(PySession(std::move(session), std::move(ops)));
}

static void bindStatistics(nb::module_ &module) {
  using Statistics = Session::Statistics;
  nb::class_<Statistics>(
      module, "Statistics",
      "Counters of a session since it was created.\n\n"
      "Calls of parts that may be compiled: compiled_calls completed in compiled code, bails\n"
      "returned to the interpreter (because of an error, for example), interpreted_calls found\n"
      "no code. Code: compilations, in compile_seconds; memory_hits and disk_hits for existing\n"
      "code; pending_compilations; failed_compilations, with last_failure. Tensors, except\n"
      "scalars, of compiled code and its kernels: allocations, of allocated_bytes; copies of\n"
      "elements of other tensors; reuses of the memory of other tensors. live_bytes: the size of\n"
      "all tensors above 1 MiB in the process.")
      .def_ro("runs", &Statistics::runs, "Runs of the session.")
      .def_ro("compiled_calls", &Statistics::compiledCalls,
              "Calls that completed in compiled code.")
      .def_ro("bails", &Statistics::bails, "Calls that compiled code returned to the interpreter.")
      .def_ro("interpreted_calls", &Statistics::interpretedCalls, "Calls that found no code.")
      .def_ro("compilations", &Statistics::compilations, "Compilations.")
      .def_ro("compile_seconds", &Statistics::compileSeconds, "Total compile time in seconds.")
      .def_ro("memory_hits", &Statistics::memoryHits, "Compilations avoided by code in memory.")
      .def_ro("disk_hits", &Statistics::diskHits, "Compilations avoided by the cache on disk.")
      .def_ro("pending_compilations", &Statistics::pendingCompilations,
              "Parts that are waiting to be compiled, or are being compiled.")
      .def_ro("failed_compilations", &Statistics::failedCompilations,
              "Parts that can't be compiled.")
      .def_ro("last_failure", &Statistics::lastFailure, "The reason for the last of them.")
      .def_ro("allocations", &Statistics::allocations, "New tensors.")
      .def_ro("allocated_bytes", &Statistics::allocatedBytes, "Size of the new tensors in bytes.")
      .def_ro("copies", &Statistics::copies, "New tensors that only copy elements of others.")
      .def_ro("reuses", &Statistics::reuses, "Tensors that reuse the memory of another.")
      .def_ro("live_bytes", &Statistics::liveBytes,
              "Size in bytes of all tensors above 1 MiB in the process.")
      .def("__repr__", [](const Statistics &s) {
        return str("<treadle.Statistics runs=", s.runs, " compiled_calls=", s.compiledCalls,
                   " bails=", s.bails, " interpreted_calls=", s.interpretedCalls,
                   " compilations=", s.compilations, " compile_seconds=", s.compileSeconds,
                   " memory_hits=", s.memoryHits, " disk_hits=", s.diskHits,
                   " pending_compilations=", s.pendingCompilations,
                   " failed_compilations=", s.failedCompilations, " allocations=", s.allocations,
                   " allocated_bytes=", s.allocatedBytes, " copies=", s.copies,
                   " reuses=", s.reuses, " live_bytes=", s.liveBytes, ">");
      });
}

void bindSession(nb::module_ &module) {
  bindStatistics(module);
  nb::class_<PySession>(
      module, "Session",
      "A graph in use: its variables, queues and tables. Thread-safe.\n\n"
      "Args:\n"
      "    graph: the bytes of a GraphDef, a path or a Graph. Use treadle.load for SavedModels,\n"
      "        since it restores their variables.\n"
      "    threads: number of threads of a run, including its caller; default: one for each core.\n"
      "    cores: numbers of the cores for the session's threads; default: all that the process\n"
      "        may use. The caller's thread is not moved.\n"
      "    tier: 'interpret' runs node by node. 'auto' fuses chains of nodes, and compiles loops "
      "in\n"
      "        the background from the second run of a request on. 'jit' compiles loops when a "
      "run\n"
      "        first reaches them, and the run waits.\n"
      "    loop_overlap: which loops overlap their iterations, as far as the order of side "
      "effects\n"
      "        allows: 'off', 'on', or 'auto' for those with ops that wait.\n"
      "    timeout: time limit of a run in seconds, after which it raises DeadlineExceededError.\n"
      "    statistics: whether to collect counters for statistics().\n"
      "    trace: whether to record a timeline for trace() and profile().\n"
      "    fast_math: whether compiled code may round differently if that is faster\n"
      "        (docs/tiers.md lists the error bounds).\n"
      "    denormals: what arithmetic makes of denormal numbers: zero ('flush'), as TensorFlow "
      "and\n"
      "        XLA do, or as IEEE 754 has them ('keep').\n"
      "    memory: memory limit in bytes for tensors that the session's runs create; a run that\n"
      "        exceeds it raises ResourceExhaustedError. Default: no limit.\n"
      "    allow_read, allow_write: folders and files (a path or a list) that ops may read, and\n"
      "        that they may write. They may always read the folder of the graph. Other accesses\n"
      "        raise PermissionDeniedError (docs/security.md).\n"
      "    allow_clock: whether ops may read the time of day.\n"
      "    communicator: the processes that collective ops communicate with.")
      .def(
          "__init__",
          [](PySession *self, nb::handle graph, std::optional<int> threads,
             std::optional<std::vector<int>> cores, const std::string &tier,
             const std::string &loopOverlap, std::optional<double> timeout, bool statistics,
             bool trace, bool fastMath, const std::string &denormals, std::optional<int64_t> memory,
             nb::handle allowRead, nb::handle allowWrite, bool allowClock,
             std::shared_ptr<Communicator> communicator) {
            std::shared_ptr<const RegisteredOps> ops = currentOps();
            SessionOptions options = sessionOptions(
                threads, std::move(cores), tier, loopOverlap, timeout, statistics, trace, fastMath,
                denormals, memory, toPermissions(allowRead, allowWrite, allowClock), *ops);
            options.communicator = std::move(communicator);
            Graph made = toGraph(graph);
            rejectModelWithState(graph, made);
            new (self) PySession(orRaise(Session::create(std::move(made), options)), ops, true);
          },
          nb::arg("graph"), nb::kw_only(), nb::arg("threads") = nb::none(),
          nb::arg("cores") = nb::none(), nb::arg("tier") = "auto", nb::arg("loop_overlap") = "auto",
          nb::arg("timeout") = nb::none(), nb::arg("statistics") = false, nb::arg("trace") = false,
          nb::arg("fast_math") = false, nb::arg("denormals") = "flush",
          nb::arg("memory") = nb::none(), nb::arg("allow_read") = nb::tuple(),
          nb::arg("allow_write") = nb::tuple(), nb::arg("allow_clock") = false,
          nb::arg("communicator") = nb::none())
      .def(
          "run", &PySession::run, nb::arg("fetches"), nb::arg("feeds") = nb::dict(),
          nb::arg("targets") = nb::tuple(),
          "Runs the nodes that the fetches and the targets need; returns one array for each "
          "fetch.\n\n"
          "fetches: names ('x:0', 'x'), as a list, or a single name for a single array. In a loop\n"
          "'x:0@3', 'x:0@last' and 'x:0@*' (all, stacked) select iterations.\n"
          "feeds: a dict of names and values: arrays of the graph's dtype and shape, or of a "
          "dtype\n"
          "that numpy converts to it without loss, or Python numbers, strings, bytes and lists of\n"
          "them.\n"
          "targets: names of nodes to run without fetching values.\n\n"
          "Strings are arrays of objects (bytes); bfloat16 and the 8-bit floats are dtypes of\n"
          "ml_dtypes. The results are writable arrays. Raises a subclass of treadle.Error:\n"
          "InvalidArgumentError for an unknown name or a wrong dtype or shape, and the errors of\n"
          "ops. Ctrl-C cancels the run.")
      .def("variables", &PySession::variables,
           "Returns the values of the initialized variables: a dict of read-only arrays by name.")
      .def_prop_ro(
          "is_compiling", &PySession::isCompiling,
          "Whether code for later runs is being compiled, or is ready for the next run of its\n"
          "request. To warm up a session, run it twice, and then until this is False.")
      .def("statistics", &PySession::statistics,
           "Returns counters of compiled code since the session was created.\n"
           "FailedPreconditionError unless it was created with statistics=True.")
      .def("trace", &PySession::trace,
           "Returns the timeline of all runs so far as JSON in the Trace Event Format, for "
           "Perfetto\n"
           "and chrome://tracing. It has tracks for threads and for overlapping iterations, and "
           "the\n"
           "first 1,000,000 slices. FailedPreconditionError unless the session was created with\n"
           "trace=True.")
      .def("cancel", &PySession::cancel, nb::call_guard<nb::gil_scoped_release>(),
           "Cancels the runs in progress on other threads, which raise CancelledError.")
      .def("_freeze", &PySession::freeze)
      .def("profile", &PySession::profile, nb::kw_only(), nb::arg("by") = "op",
           nb::arg("sort") = "own", nb::arg("rows") = 20,
           "Returns the time of each op in the traced runs: a treadle.Profile. print() shows a\n"
           "table with the first `rows` rows, one for each 'op' or 'node' (by); sort is 'own', "
           "'all',\n"
           "'wait', 'calls' or 'bytes'. FailedPreconditionError unless the session was created "
           "with\n"
           "trace=True.")
      .def("forget_trace", &PySession::forgetTrace,
           "Discards the records of earlier runs for trace() and profile(), for use after a "
           "warm-up.")
      .def_prop_ro("graph", &PySession::graph, nb::rv_policy::copy,
                   "A copy of the graph that the session runs. Create another session to run an "
                   "edited copy.");
}

} // namespace treadle::python
