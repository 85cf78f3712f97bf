// `treadle explore`: all schedules of a small graph, and whether they give the same.
#include "treadle/tools/cli/Progress.h"
#include "treadle/tools/cli/Request.h"

namespace treadle::cli {
namespace {

std::string joined(const std::vector<std::string> &names, std::string_view separator) {
  std::string out;
  for (const std::string &name : names)
    out += (out.empty() ? "" : std::string(separator)) + name;
  return out;
}

/// `  text`, on each line.
std::string indented(std::string_view text) {
  std::string out = "    ";
  for (char c : text)
    out += c == '\n' ? "\n    " : std::string(1, c);
  return out;
}

void printText(const Exploration &found) {
  print(str(found.schedules, found.schedules == 1 ? " schedule" : " schedules", " explored",
            found.isComplete ? "" : ", but there are more: raise --limit", "\n"));
  if (found.isRandom)
    print("one schedule gave two things: there is a random op without a seed\n");
  if (found.isAmbiguous)
    print("two live values met at a Merge, or left a loop: which one counts is not defined\n");
  if (found.difference.empty())
    return print(found.isRandom ? "" : "all give the same\n");
  print("they give different things:\n");
  for (const Exploration::Schedule &schedule : found.difference)
    print(str("  ", joined(schedule.firings, ", "), "\n", indented(schedule.outcome), "\n"));
}

json::Object jsonOf(const Exploration &found) {
  json::Array difference;
  for (const Exploration::Schedule &schedule : found.difference)
    difference.push_back(object("firings", schedule.firings, "outcome", schedule.outcome));
  return object("schedules", found.schedules, "complete", found.isComplete, "random",
                found.isRandom, "ambiguous", found.isAmbiguous, "difference",
                std::move(difference));
}

/// As a run of the graph checks them; old graphs state [] where they mean any shape.
Expected<void> checkFeeds(const Request &request) {
  for (const Graph::Value &input : request.graph.inputs())
    for (const auto &[name, value] : request.feeds)
      if (PartialShape shape{input.hasRank, input.dims};
          name == input.name && value && !input.dims.empty() && !shape.accepts(value.dims()))
        return Unexpected(invalidArgument("feed '", name, "' is ", tensorTypeText(value),
                                          ", but the graph wants the shape ", shape.text()));
  return {};
}

/// Schedules are compared by what they give each time, so that nothing from outside may come in:
/// what the error advises is for runs.
Error withAdviceForRuns(Error error) {
  if (size_t advice = error.message.find("; --allow-"); advice != std::string::npos)
    error.message.insert(advice + 2, "'explore' can't be granted it; for 'treadle run' ");
  return error;
}

int explore(const Arguments &args) {
  int64_t limit = TREADLE_OR_REPORT(args.integer("--limit", 10000, 1));
  int status = 0;
  std::optional<Request> request = makeRequest(args, {}, status);
  if (!request)
    return status;
  useTensorNames(*request);
  if (Expected<void> ok = checkFeeds(*request); !ok)
    return report(ok.error());
  Expected<Exploration> found = [&] {
    Progress progress(str("exploring ", args.positional[0]));
    return explore(request->graph, {request->fetches, request->targets, request->feeds,
                                    args.list("--setup"), limit});
  }();
  if (!found)
    return report(withAdviceForRuns(found.error()));
  if (!request->signature && !args.has("--fetch") && !args.has("--target"))
    found->notes.push_back(str("explored one run that fetches all of the graph's outputs: ",
                               joined(request->fetches, ", "),
                               "; say with --fetch and --target what one run asks for"));
  for (const std::string &text : found->notes)
    note(text);
  if (args.has("--json"))
    printJson(jsonOf(*found));
  else
    printText(*found);
  return found->difference.empty() && !found->isAmbiguous && !found->isRandom ? 0 : 1;
}

constexpr OptionRow options[] = {
    {"--fetch", "T,...", "tensors to compute"},
    {"--target", "N,...", "nodes to run for their effects"},
    {"--setup", "N,...", "nodes to run before each schedule: initializers"},
    {"--signature", "S", "the signature of a SavedModel to call; serving_default by default"},
    {"--input", "K=VALUE", "the value of an input: 5, [1,2,3], 2x3xf32=0, @file.npy, random"},
    {"--limit", "N", "the most schedules to run; 10000 by default"},
    {"--json", "", "print one JSON object"},
};

} // namespace

const Command exploreCommand = {
    "explore",
    "run all schedules of a small graph, and compare what they give",
    "MODEL",
    1,
    options,
    "  treadle explore examples/countdown.pbtxt --fetch count:0 --input start=3\n"
    "  1 schedule explored\n"
    "  all give the same\n"
    "Exits 1 if they don't.\n",
    explore,
};

} // namespace treadle::cli
