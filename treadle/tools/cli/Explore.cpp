// `treadle explore`: runs all schedules of a small graph and compares their results.
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

/// Indents each line of the text.
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
    print("one schedule had two results: there is a random op without a seed\n");
  if (found.isAmbiguous)
    print("two live values reached a Merge, or left a loop: the one that is used is undefined\n");
  if (found.difference.empty())
    return print(found.isRandom ? "" : "all results are equal\n");
  print("the results differ:\n");
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

/// Checks the shapes of feeds as a run does; a shape of [] in old graphs means any shape.
Expected<void> checkFeeds(const Request &request) {
  for (const Graph::Value &input : request.graph.inputs())
    for (const auto &[name, value] : request.feeds)
      if (PartialShape shape{input.hasRank, input.dims};
          name == input.name && value && !input.dims.empty() && !shape.accepts(value.dims()))
        return Unexpected(invalidArgument("feed '", name, "' is ", tensorTypeText(value),
                                          ", but the graph expects the shape ", shape.text()));
  return {};
}

/// Schedules must not depend on anything outside of the graph, so exploration grants no
/// permissions: marks the advice in the error as meant for runs.
Error withPermissionAdvice(Error error) {
  if (size_t advice = error.message.find("; --allow-"); advice != std::string::npos)
    error.message.insert(advice + 2, "'explore' doesn't support it; for 'treadle run' ");
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
    return report(withPermissionAdvice(found.error()));
  if (!request->signature && !args.has("--fetch") && !args.has("--target"))
    found->notes.push_back(
        str("explored one run that fetches all of the graph's outputs: ",
            joined(request->fetches, ", "),
            "; set the fetches and targets of one run with --fetch and --target"));
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
    {"--target", "N,...", "nodes to run for their side effects"},
    {"--setup", "N,...", "nodes to run before each schedule: initializers"},
    {"--signature", "S", "signature of a SavedModel to call; default: serving_default"},
    {"--input", "K=VALUE", "value of an input: 5, [1,2,3], 2x3xf32=0, @file.npy, random"},
    {"--limit", "N", "maximum number of schedules to run; default: 10000"},
    {"--json", "", "print one JSON object"},
};

} // namespace

const Command exploreCommand = {
    "explore",
    "run all schedules of a small graph and compare their results",
    "MODEL",
    1,
    options,
    "  treadle explore examples/countdown.pbtxt --fetch count:0 --input start=3\n"
    "  1 schedule explored\n"
    "  all results are equal\n"
    "Exits 1 if they don't.\n",
    explore,
};

} // namespace treadle::cli
