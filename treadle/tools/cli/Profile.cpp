// `treadle profile`: the time of a run by op or by node.
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Request.h"

#include <chrono>

namespace treadle::cli {
namespace {

json::Object jsonOf(const Profile::Row &row) {
  json::Object out = object("op", row.op, "calls", row.calls, "own_ms", row.own * 1e3, "all_ms",
                            row.all * 1e3, "wait_ms", row.wait * 1e3, "bytes", row.bytes);
  if (!row.name.empty())
    out["name"] = row.name;
  if (row.isCluster)
    out["compiled_calls"] = row.compiledCalls;
  if (!row.contents.empty())
    out["contents"] = row.contents;
  return out;
}

json::Array jsonOf(std::vector<Profile::Row> rows, Profile::Sort sort) {
  sortRows(rows, sort);
  json::Array out;
  for (const Profile::Row &row : rows)
    out.push_back(jsonOf(row));
  return out;
}

json::Object jsonOf(const Profile &profile, Profile::Sort sort) {
  return object("runs", profile.runs, "run_ms", profile.seconds * 1e3, "measuring_ms",
                profile.measuring * 1e3, "left_out", profile.leftOut, "ops",
                jsonOf(profile.ops(), sort), "nodes", jsonOf(profile.nodes, sort));
}

struct Counts {
  int64_t warmUp, repeat;
};

/// The warm-up includes runs until background compilation is done, for up to 10 s.
Expected<Profile> measure(const Request &request, Counts counts) {
  Session session = TREADLE_TRY(request.makeSession());
  Progress progress("measuring");
  for (int64_t i = 0; i < counts.warmUp; ++i)
    TREADLE_TRY(request.run(session));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (counts.warmUp && session.isCompiling() && std::chrono::steady_clock::now() < end)
    TREADLE_TRY(request.run(session));
  TREADLE_TRY(session.forgetTrace());
  for (int64_t i = 0; i < counts.repeat; ++i) {
    TREADLE_TRY(request.run(session));
    progress.set(static_cast<double>(i + 1) / static_cast<double>(counts.repeat));
  }
  return session.profile();
}

int profile(const Arguments &args) {
  int64_t warmUp = TREADLE_OR_REPORT(args.integer("--warmup", 3, 0));
  int64_t repeat = TREADLE_OR_REPORT(args.integer("--repeat", 10, 1));
  int64_t rows = TREADLE_OR_REPORT(args.integer("--rows", 20, 1));
  Expected<Profile::By> by = parseProfileBy(args.value("--by").value_or("op"));
  if (!by)
    return report(UsageError{"option '--by' is " + by.error().message});
  Expected<Profile::Sort> sort = parseProfileSort(args.value("--sort").value_or("own"));
  if (!sort)
    return report(UsageError{"option '--sort' is " + sort.error().message});
  int status = 0;
  std::optional<Request> request = makeRequest(args, {.traces = true}, status);
  if (!request)
    return status;
  Profile found = TREADLE_OR_REPORT(measure(*request, {warmUp, repeat}));
  if (args.has("--json"))
    printJson(jsonOf(found, *sort));
  else
    print(found.text(*by, *sort, static_cast<size_t>(rows)));
  return 0;
}

constexpr OptionRow options[] = {
    TREADLE_RUN_OPTIONS,
    {"--by", "op|node", "a row for each op (the default), or for each node"},
    {"--sort", "COLUMN",
     "column to sort by, largest first: own (the default), all, wait, calls or bytes"},
    {"--rows", "N", "maximum number of rows; default: 20"},
    {"--warmup", "N",
     "minimum number of warm-up runs, which go on until all compilation is done; default: 3"},
    {"--repeat", "N", "number of measured runs; default: 10"},
    {"--json", "", "print one JSON object with all rows, with times summed over all runs"},
};

} // namespace

const Command profileCommand = {
    "profile",
    "profile runs by op or by node",
    "MODEL",
    1,
    options,
    "  treadle profile examples/countdown.pbtxt --input start=1000 --tier interpret\n"
    "  10 runs of 1.6271 ms, 1.3302 of it for measuring; a run's share in each column\n"
    "  own ms  share  all ms  wait ms  calls   bytes  compiled  op\n"
    "  0.1051  54.2%  0.1939   0.0000      1     4 B            While: 'loop/dec' (Sub), ...\n"
    "  ...\n"
    "own: time in the op itself. all: with the iterations and functions that it ran, and waiting.\n"
    "wait: time waiting for a queue, another process or Python. bytes: size of its results.\n"
    "compiled: whether compiled code ran it. The overhead of measuring is excluded.\n",
    profile,
};

} // namespace treadle::cli
