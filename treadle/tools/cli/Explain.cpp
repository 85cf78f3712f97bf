// `treadle explain`: what orders the iterations of each loop, how to free them, and what is
// compiled.
#include "treadle/explain/Recommendations.h"
#include "treadle/graph/ObjectFunctions.h"
#include "treadle/tools/cli/ExplainCode.h"
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Terminal.h"

namespace treadle {

static json::Value toJSON(const Explanation::Op &op) {
  return object("name", op.name, "op", op.op, "where", op.where, "line", op.line);
}

static json::Value toJSON(const Explanation::Access &access) {
  return object("op", access.op, "writes", access.writes, "in_condition", access.isInCondition);
}

static json::Value toJSON(const Explanation::Order &order) {
  return object("kind", order.kind, "subject", order.subject, "by", order.by, "orders",
                order.isOrder, "race", order.isRace, "would_be_free", order.wouldBeFree);
}

static json::Value toJSON(const Explanation::Loop &loop) {
  return object("name", loop.name, "kind", loop.kind, "line", loop.line, "parallel_iterations",
                loop.parallelIterations, "functions", loop.functions, "overlaps",
                object("auto", loop.overlapsInAuto, "on", loop.overlapsWhenOn), "why",
                object("auto", loop.inAuto, "on", loop.whenOn), "orders", loop.orders, "in_turns",
                loop.inTurns, "overlapping", loop.overlapping, "advice", loop.advice, "starved",
                loop.starved);
}

static json::Value toJSON(const Explanation::Body &body) {
  return object("function", body.function, "users", body.users, "loops", body.loops);
}

static json::Value toJSON(const Explanation::Cluster &cluster) {
  return object("where", cluster.where, "ops", cluster.ops, "inputs", cluster.inputs, "nodes",
                cluster.nodes);
}

static json::Value toJSON(const Explanation::Interpreted &part) {
  return object("why", part.why, "nodes", part.nodes);
}

static json::Value toJSON(const Explanation &explanation) {
  return object("bodies", explanation.bodies, "clusters", explanation.clusters, "interpreted",
                explanation.interpreted);
}

namespace cli {
namespace {

/// Explains a schedule of exchanges with other processes by a cost model.
int explainSchedule(const Arguments &args, Graph &graph) {
  int64_t ranks = TREADLE_OR_REPORT(args.integer("--ranks", 2, 1));
  int64_t memory = TREADLE_OR_REPORT(args.integer("--memory", 0, 0));
  int64_t bucket = TREADLE_OR_REPORT(args.integer("--bucket", 0, 0));
  double jitter = TREADLE_OR_REPORT(args.number("--jitter", 0, 0));
  Schedule schedule = TREADLE_OR_REPORT(scheduleCommunication(
      graph, {std::string(*args.value("--costs")), ranks, memory, bucket, jitter}));
  print(schedule.text);
  return 0;
}

/// The options that only --code uses.
#define TREADLE_CODE_OPTIONS                                                                       \
  {"--input", "K=VALUE", "value of an input, as for 'treadle run'; for --code"},                   \
      {"--setup", "N,...", "nodes to run once before, such as initializers; for --code"},          \
      {"--passes", "PIPELINE", "passes to run on the graph first; for --code"},                    \
      {"--threads", "N", "number of threads for a run; for --code"},                               \
      {"--timeout", "S", "time limit of a run in seconds; for --code"},                            \
      {"--memory", "SIZE", "memory limit for tensors: 512MiB, 2GiB; for --code"},                  \
      {"--allow-read", "PATH", "folder or file that ops may read; for --code"},                    \
      {"--allow-write", "PATH", "folder or file that ops may write; for --code"},                  \
      {"--allow-clock", "", "let ops read the time of day; for --code"},                           \
      {"--fast-math", "", "let compiled code round differently; for --code"}
constexpr OptionRow codeOptions[] = {TREADLE_CODE_OPTIONS};

int explain(const Arguments &args) {
  for (const char *option : {"--ranks", "--bucket", "--memory", "--jitter"})
    if (args.has(option) && !args.has("--costs"))
      return report(UsageError{str("option '", option, "' is for schedules; add --costs FILE")});
  if (args.has("--all") && args.has("--signature"))
    return report(UsageError{"options '--all' and '--signature' can't be used together"});
  for (const char *option : {"--all", "--signature", "--fetch", "--target"})
    if (args.has(option) && args.has("--function"))
      return report(
          UsageError{str("options '", option, "' and '--function' can't be used together")});
  for (const OptionRow &option : codeOptions)
    if (args.has(option.name) && !args.has("--code"))
      return report(UsageError{str("option '", option.name, "' requires --code")});
  for (const char *option : {"--all", "--json", "--costs"})
    if (args.has(option) && args.has("--code"))
      return report(UsageError{str("options '", option, "' and '--code' can't be used together")});
  if (args.has("--code"))
    return explainCode(args);
  Graph graph = TREADLE_OR_REPORT(openModel(args.positional[0]));
  if (args.has("--costs"))
    return explainSchedule(args, graph);
  ExplainRequest asked{args.list("--fetch"), args.list("--target"), nullptr,
                       std::string(args.value("--signature").value_or("")), args.has("--all")};
  if (auto function = args.value("--function")) {
    FunctionGraph called = TREADLE_OR_REPORT(FunctionGraph::of(graph, *function));
    graph = std::move(called.graph);
    asked.targets = std::move(called.calls);
  }
  Expected<Explanation> found = [&] {
    Progress progress(str("explaining ", args.positional[0]));
    return explain(graph, asked);
  }();
  if (!found)
    return report(found.error());
  if (args.has("--json")) {
    printJson(*found);
    return 0;
  }
  Terminal terminal = Terminal::ofOutput();
  std::vector<std::string> things = recommendationsFor(*found);
  if (!things.empty())
    print(terminal.bold("worth doing") + "\n");
  for (const std::string &thing : things)
    print(str("  ", thing, "\n"));
  print(found->text());
  return 0;
}

constexpr OptionRow options[] = {
    {"--fetch", "T,...", "only loops that a run with these fetches reaches"},
    {"--target", "N,...", "only loops that a run with these targets reaches"},
    {"--signature", "S",
     "only the nodes that this signature of a SavedModel needs; default: any signature"},
    {"--function", "F", "only the nodes that this function of a SavedModel needs"},
    {"--all", "", "of a SavedModel also its savers and initializers"},
    {"--json", "", "print one JSON object"},
    {"--code", "",
     "print the work of compiled code in a run instead: operations, bytes, vectors, calls, time"},
    TREADLE_CODE_OPTIONS,
    {"--costs", "FILE,...",
     "print a schedule that hides communication between processes instead, by these costs or "
     "traces"},
    {"--ranks", "N", "number of processes; for --costs"},
    {"--bucket", "BYTES", "combine all-reduces of fewer bytes; for --costs"},
    {"--memory", "BYTES", "memory limit of exchanges in flight; for --costs"},
    {"--jitter", "SHARE", "fraction by which tasks may take longer; for --costs"},
};

} // namespace

const Command explainCommand = {
    "explain",
    "explain what orders the iterations of each loop, and what is compiled",
    "MODEL",
    1,
    options,
    "  treadle explain examples/countdown.pbtxt\n"
    "  graph\n"
    "    loop 'loop' (frame), parallel_iterations 10\n"
    "      auto:        one iteration after the other: each of its ops waits for the previous "
    "iteration\n"
    "      in order:    the condition and its inputs: 'loop/more' (Greater) and 'loop/dec' "
    "(Sub)\n"
    "                   nothing else orders its iterations: they share no effects\n"
    "  compiled by tiers auto and jit\n"
    "    'loop' (StatelessWhile): 3 ops, for int32[*]\n"
    "'auto' and 'on' show the effect of --loop-overlap auto and on of 'treadle run', whose --tier\n"
    "selects whether parts are compiled.\n",
    explain,
};

} // namespace cli
} // namespace treadle
