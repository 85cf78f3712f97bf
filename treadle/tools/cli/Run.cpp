// `treadle run`: computes tensors of a graph and prints them.
#include "treadle/collective/World.h"
#include "treadle/npy/Npz.h"
#include "treadle/tools/cli/Distributed.h"
#include "treadle/tools/cli/Element.h"
#include "treadle/tools/cli/ExpectedResults.h"
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Stats.h"

namespace treadle::cli {

static int runOnce(const Arguments &args, const Request &request, Stats &stats) {
  Runner runner = TREADLE_OR_REPORT(request.makeRunner());
  stats.lap("session");
  Expected<std::vector<Tensor>> values = [&] {
    Progress progress(str("running ", args.positional[0]));
    return request.run(runner);
  }();
  stats.lap("plan and first run");
  if (const auto *session = std::get_if<Session>(&runner))
    stats.take(*session);
  if (!values)
    return report(values.error());
  // All processes have the same results: only one prints them.
  if (rankOfProcess() != 0)
    return 0;
  NamedTensors named;
  for (size_t i = 0; i < values->size(); ++i) {
    const Tensor &value = (*values)[i];
    print(str(request.fetches[i], ": ", tensorTypeText(value), " = ", valuesText(value), "\n"));
    named.emplace_back(request.fetches[i], value);
  }
  std::optional<std::string_view> output = args.value("--output");
  if (!output)
    return 0;
  Expected<void> done = writeNpz(named).and_then(
      [&](const std::string &bytes) { return writeFileBytes(std::string(*output), bytes); });
  return done ? 0 : report(done.error());
}

static int runAlone(const Arguments &args) {
  std::optional<std::string_view> checkFile = args.value("--check");
  if (checkFile && (args.has("--fetch") || args.has("--output")))
    return report(UsageError{
        "option '--check' reads the fetches from its file; leave out --fetch and --output"});
  Stats stats;
  int status = 0;
  std::optional<Request> request = makeRequest(args, {checkFile.has_value(), true}, status);
  if (!request)
    return status;
  if (!request->sandbox)
    if (Expected<void> ok = distribute(*request); !ok)
      return report(ok.error());
  stats.lap("load");
  status =
      checkFile ? check(*request, std::string(*checkFile), stats) : runOnce(args, *request, stats);
  if (args.has("--stats") && !status)
    stats.print();
  std::optional<std::string_view> trace = args.value("--trace");
  if (!trace)
    return status;
  // Write the trace of a failed run too: it shows how far the run got. Each process writes its own.
  int rank = rankOfProcess();
  Expected<void> written = stats.writeTrace(rank ? str(*trace, ".", rank) : std::string(*trace));
  return written ? status : report(written.error());
}

static int run(const Arguments &args) {
  int status = runAlone(args);
  leaveWorld(status != 0);
  return status;
}

static constexpr OptionRow options[] = {
    TREADLE_RUN_OPTIONS,
    sandboxOption,
    {"--check", "IO.npz", "feed the arrays in/K, and exit with 1 if a result isn't close to out/K"},
    {"--output", "FILE.npz", "write the results to this file"},
    {"--stats", "", "print load, run and compile times and memory use to standard error"},
    {"--trace", "FILE",
     "write a timeline of all ops and threads for 'treadle view' and Perfetto; in Perfetto's "
     "format if named x.pftrace"},
};

const Command runCommand = {
    "run",
    "run a graph and print its results",
    "MODEL",
    1,
    options,
    "  treadle run examples/countdown.pbtxt --fetch count:0 --input start=3\n"
    "  count:0: int32[] = 0\n"
    "\n"
    "VALUE of --input is one of these (docs/models.md has more):\n"
    "  5, [1,2,3], [true,false]        of the dtype of the input; complex: 1+2j\n"
    "  2x3xf32=0, 4xu8=1,2,3,4, 2x3=0  shape, dtype (f32 i64 u8 i1 c64, float32, ...), elements\n"
    "  two, [one,\"two, three\"]        strings\n"
    "  @cat.jpg, [@a.jpg,@b.jpg]       strings: contents of files; \"@cat\", in quotes, is the "
    "string\n"
    "  @x.npy, @x.npz, @x.npz:NAME     arrays written by numpy.save or numpy.savez\n"
    "  random                          random numbers, the same in each run\n"
    "\n"
    "To find out why a run is slow: 'treadle profile' for each op; --stats; 'treadle bench' for\n"
    "later runs; 'treadle explain' for the parts that aren't compiled; --trace.\n"
    "docs/performance.md explains their output.\n",
    run,
};

} // namespace treadle::cli
