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
  /// `isBare`: made of a graph, so that nothing restored the variables that a SavedModel has.
  PySession(Session session, std::shared_ptr<const RegisteredOps> ops, bool isBare = false);

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

  std::shared_ptr<const RegisteredOps> ops; // before the session, which refers to it
  Session session;
  std::map<std::string, DType, std::less<>> inputTypes;
  bool mayShareFeeds, isBare;
};

constexpr const char *loadAdvice =
    "a Session restores no variables and fills no tables of a SavedModel; treadle.load(FOLDER) "
    "does, and its .session runs any tensor";

// A variable that was assigned an array's own memory would change with the array.
bool keepsNothing(const Graph &graph) {
  return std::ranges::all_of(summarize(graph).ops, [](const GraphSummary::Count &count) {
    const OpDef *op = lookupOp(count.op);
    return op && (!op->isStateful() || op->facts().forgets);
  });
}

// Variables and tables, which are of use once something gave them values.
bool hasState(const Graph &graph) {
  GraphSummary summary = summarize(graph);
  return !summary.variables.empty() || std::ranges::any_of(summary.ops, [](const auto &count) {
    const OpDef *op = lookupOp(count.op);
    return op && op->makes() == "table";
  });
}

// Of a file, for want of passes that may have changed it, nothing can come but an error.
void checkIsNoModel(nb::handle given, const Graph &graph) {
  if (!nb::isinstance<Graph>(given) && graph.isSavedModel() && hasState(graph))
    raise(invalidArgument("the graph is a SavedModel with variables or tables, and ", loadAdvice));
}

PySession::PySession(Session made, std::shared_ptr<const RegisteredOps> ops, bool isBare)
    : ops(std::move(ops)), session(std::move(made)), mayShareFeeds(keepsNothing(session.graph())),
      isBare(isBare) {
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
    TensorRequest request{str("feed '", name, "'"), std::nullopt, mayShareFeeds};
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
      raiseTypeError(str(what, " holds a ", typeName(item), ", expected names such as 'x:0'"));
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
  if (lacksState && isBare && session.graph().isSavedModel())
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
  // They stay until the results are arrays: a result that is a feed is seen not to be ours alone.
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

// A str may hold halves of surrogate pairs, which no text of a graph can.
std::string toName(nb::handle name, const char *what) {
  if (!PyUnicode_Check(name.ptr()))
    raiseTypeError(str("a name in ", what, " is a ", typeName(name), ", expected a str"));
  Py_ssize_t size;
  if (const char *utf8 = PyUnicode_AsUTF8AndSize(name.ptr(), &size))
    return {utf8, static_cast<size_t>(size)};
  nb::python_error error;
  raise(invalidArgument("a name in ", what, " is no Unicode text: ", toError(error).message));
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
                              bool fastMath, std::optional<int64_t> memory, Permissions permissions,
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
      "What a session did since it was made.\n\n"
      "Calls of parts that may be compiled: compiled_calls finished in compiled code, bails went\n"
      "back to the interpreter (at an error, for example), interpreted_calls found no code.\n"
      "Code: compilations, in compile_seconds; memory_hits and disk_hits for code that was made\n"
      "before; pending_compilations; failed_compilations, with last_failure.\n"
      "Tensors that compiled code and its kernels made, except scalars: allocations, of\n"
      "allocated_bytes; copies of other tensors' elements; reuses of another tensor's memory.\n"
      "live_bytes: those of all large tensors (above 1 MiB) in the process.")
      .def_ro("runs", &Statistics::runs, "Runs of the session.")
      .def_ro("compiled_calls", &Statistics::compiledCalls, "Calls that finished in compiled code.")
      .def_ro("bails", &Statistics::bails, "Calls that went back to the interpreter.")
      .def_ro("interpreted_calls", &Statistics::interpretedCalls, "Calls that found no code.")
      .def_ro("compilations", &Statistics::compilations, "Compilations.")
      .def_ro("compile_seconds", &Statistics::compileSeconds, "Time of all compilations.")
      .def_ro("memory_hits", &Statistics::memoryHits,
              "Code that had been made before in this process.")
      .def_ro("disk_hits", &Statistics::diskHits, "Code that was read from the cache on disk.")
      .def_ro("pending_compilations", &Statistics::pendingCompilations,
              "What waits to be compiled, or is being compiled now.")
      .def_ro("failed_compilations", &Statistics::failedCompilations,
              "Parts that can't be compiled.")
      .def_ro("last_failure", &Statistics::lastFailure, "Why the last of them can't.")
      .def_ro("allocations", &Statistics::allocations, "New tensors.")
      .def_ro("allocated_bytes", &Statistics::allocatedBytes, "Their bytes.")
      .def_ro("copies", &Statistics::copies, "Tensors that only hold elements of others.")
      .def_ro("reuses", &Statistics::reuses, "Tensors in the memory of others.")
      .def_ro("live_bytes", &Statistics::liveBytes, "Bytes of all large tensors in the process.")
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
      "A graph being used: its variables, queues and tables. Thread-safe.\n\n"
      "Args:\n"
      "    graph: the bytes of a GraphDef, a path or a Graph. treadle.load takes SavedModels,\n"
      "        whose variables it restores.\n"
      "    threads: how many threads a run may use, its caller's included; by default one for\n"
      "        each core.\n"
      "    cores: the numbers of the cores that the session's threads may run on; by default all\n"
      "        that the process may use. The caller's thread stays where it is.\n"
      "    tier: 'interpret' runs node by node. 'auto' joins chains of nodes, and compiles loops\n"
      "        on another thread once a request comes again. 'jit' compiles them when a run\n"
      "        first reaches them, and the run waits.\n"
      "    loop_overlap: loops whose iterations overlap where the order of effects allows it:\n"
      "        'off', 'on', or 'auto' for those with ops that wait.\n"
      "    timeout: seconds after which a run fails with DeadlineExceededError.\n"
      "    statistics: whether to count for statistics().\n"
      "    trace: whether to record for trace().\n"
      "    fast_math: whether compiled code may round differently where that is faster\n"
      "        (docs/tiers.md has the bounds).\n"
      "    memory: bytes that tensors may take which the session's runs make; a run that wants\n"
      "        more fails with ResourceExhaustedError. By default as many as the machine has.\n"
      "    allow_read, allow_write: folders and files (a path or a list) that ops may read, and\n"
      "        those that they may write, beside what lies where the graph was read from, which\n"
      "        they may read. Else they fail with PermissionDeniedError (docs/security.md).\n"
      "    allow_clock: whether ops may ask for the time of day.\n"
      "    communicator: the processes that collective ops reach.")
      .def(
          "__init__",
          [](PySession *self, nb::handle graph, std::optional<int> threads,
             std::optional<std::vector<int>> cores, const std::string &tier,
             const std::string &loopOverlap, std::optional<double> timeout, bool statistics,
             bool trace, bool fastMath, std::optional<int64_t> memory, nb::handle allowRead,
             nb::handle allowWrite, bool allowClock, std::shared_ptr<Communicator> communicator) {
            std::shared_ptr<const RegisteredOps> ops = currentOps();
            SessionOptions options = sessionOptions(
                threads, std::move(cores), tier, loopOverlap, timeout, statistics, trace, fastMath,
                memory, toPermissions(allowRead, allowWrite, allowClock), *ops);
            options.communicator = std::move(communicator);
            Graph made = toGraph(graph);
            checkIsNoModel(graph, made);
            new (self) PySession(orRaise(Session::create(std::move(made), options)), ops, true);
          },
          nb::arg("graph"), nb::kw_only(), nb::arg("threads") = nb::none(),
          nb::arg("cores") = nb::none(), nb::arg("tier") = "auto", nb::arg("loop_overlap") = "auto",
          nb::arg("timeout") = nb::none(), nb::arg("statistics") = false, nb::arg("trace") = false,
          nb::arg("fast_math") = false, nb::arg("memory") = nb::none(),
          nb::arg("allow_read") = nb::tuple(), nb::arg("allow_write") = nb::tuple(),
          nb::arg("allow_clock") = false, nb::arg("communicator") = nb::none())
      .def(
          "run", &PySession::run, nb::arg("fetches"), nb::arg("feeds") = nb::dict(),
          nb::arg("targets") = nb::tuple(),
          "Runs what the fetches and the targets need; gives one array a fetch.\n\n"
          "fetches: names ('x:0', 'x'), as a list, or a single one, which gives the bare array. In "
          "a\n"
          "loop 'x:0@3', 'x:0@last' and 'x:0@*' (all, stacked) choose an iteration.\n"
          "feeds: a dict of names and values: arrays of the graph's dtype and shape, or of one "
          "that\n"
          "numpy converts to it without loss, or Python numbers, strings, bytes and lists of "
          "them.\n"
          "targets: names of nodes to run without fetching anything.\n\n"
          "Strings are arrays of objects (bytes); bfloat16 and the 8-bit floats are dtypes of\n"
          "ml_dtypes. Results are arrays of the caller's own. Raises a subclass of treadle.Error:\n"
          "InvalidArgumentError for a wrong name, dtype or shape, and whatever the ops raise.\n"
          "Ctrl-C cancels the run.")
      .def("variables", &PySession::variables,
           "The values of the variables that were made so far: a dict of read-only arrays by "
           "name.")
      .def_prop_ro(
          "is_compiling", &PySession::isCompiling,
          "Whether code for later runs is being made, or is ready for the next run of its\n"
          "request. To warm a session up, run it twice, and then until this is False.")
      .def("statistics", &PySession::statistics,
           "What compiled code did since the session was made. FailedPreconditionError unless it\n"
           "was made with statistics=True.")
      .def("trace", &PySession::trace,
           "A timeline of all runs so far: JSON text in the Trace Event Format, which Perfetto\n"
           "and chrome://tracing show. Ops by thread, and iterations that overlap on tracks of "
           "their\n"
           "own; the first 1,000,000 slices. FailedPreconditionError unless the session was made\n"
           "with trace=True.")
      .def("cancel", &PySession::cancel, nb::call_guard<nb::gil_scoped_release>(),
           "Ends the runs in progress, those of other threads, with CancelledError.")
      .def("_freeze", &PySession::freeze)
      .def(
          "profile", &PySession::profile, nb::kw_only(), nb::arg("by") = "op",
          nb::arg("sort") = "own", nb::arg("rows") = 20,
          "What each op took in the runs that are traced: a treadle.Profile. print() gives a\n"
          "table, with a row for each 'op' or 'node' (by), the first `rows` of them; sort is "
          "'own',\n"
          "'all', 'wait', 'calls' or 'bytes'. FailedPreconditionError unless the session was made\n"
          "with trace=True.")
      .def("forget_trace", &PySession::forgetTrace,
           "Lets trace() and profile() tell of later runs alone: to be called after a warm-up.")
      .def_prop_ro("graph", &PySession::graph, nb::rv_policy::copy,
                   "A copy of the graph that it runs. Edit it, and make another session of it.");
}

} // namespace treadle::python
