// `treadle check`: what is wrong with a graph, without running it.
#include "treadle/graph/MalformedNodes.h"
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/Wants.h"

namespace treadle::cli {
namespace {

void printAsJson(const std::vector<Problem> &problems) {
  json::Array all;
  for (const Problem &problem : problems)
    all.push_back(object("kind", problem.kind, "nodes", problem.nodes, "message", problem.message));
  printJson(std::move(all));
}

int count(const std::vector<Problem> &problems, std::string_view kind) {
  int number = 0;
  for (const Problem &problem : problems)
    number += problem.kind == kind;
  return number;
}

void printText(const std::vector<Problem> &problems) {
  for (const Problem &problem : problems)
    print(str(problem.kind, ": ", problem.message, "\n"));
  print(str(plural(count(problems, "error"), "error"), ", ",
            plural(count(problems, "race"), "race"), "\n"));
}

/// Lets the later node of each race wait for the earlier one, and says so. Between iterations of a
/// loop no such edge helps; and no run may come to run more than before.
Expected<void> fixRaces(Graph &graph, const std::vector<Problem> &problems) {
  for (const Problem &problem : problems) {
    if (problem.kind != "race" || problem.nodes.size() != 2 || problem.nodes[0] == problem.nodes[1])
      continue;
    const std::string &first = problem.nodes[0], &second = problem.nodes[1];
    if (!problem.secondAlone.empty()) {
      note(str("no edge between '", first, "' and '", second, "': ", problem.secondAlone,
               " needs '", second, "' alone, and would run both"));
      continue;
    }
    std::vector<std::string> inputs = TREADLE_TRY(graph.nodeInputs(second));
    inputs.push_back("^" + first);
    // A cycle: edges that were added order the two already.
    if (graph.setNodeInputs(second, inputs))
      note(str("added an edge: '", second, "' waits for '", first, "'; what runs '", second,
               "' runs both"));
  }
  return {};
}

/// The graph with its races fixed goes to a file; the problems that are left.
Expected<std::vector<Problem>> fixInto(const std::string &path, Graph graph,
                                       const std::vector<Problem> &problems,
                                       const std::vector<std::string> &asked, size_t limit) {
  TREADLE_TRY(fixRaces(graph, problems));
  TREADLE_TRY(graph.toFile(path));
  return check(graph, asked, limit);
}

/// What has to be granted for runs of what is asked for; without names, of signatures.
void printWants(const Graph &graph, std::vector<std::string> asked) {
  if (asked.empty())
    asked = graph.signatureFetches().value_or(std::vector<std::string>());
  Expected<GraphSummary> summary = asked.empty() ? summarize(graph) : summarize(graph, asked);
  if (!summary)
    summary = summarize(graph);
  for (const std::string &text : wantsText(summary->wants))
    print(str("asks for: ", text, "\n"));
}

/// All malformed nodes of a file that can't be read for them, a line each; else the one error.
int reportUnreadable(std::string_view path, const Error &error, size_t limit) {
  std::vector<Error> all;
  if (path != "-")
    all = malformedNodes(std::string(path), limit);
  if (all.size() < 2)
    return report(error);
  for (const Error &fault : all)
    report(Error{fault.code, str(path, ": ", fault.message)});
  return 1;
}

int check(const Arguments &args) {
  int64_t limit = TREADLE_OR_REPORT(args.integer("--limit", 1000, 1));
  Expected<Graph> graph = openModel(args.positional[0]);
  if (!graph)
    return reportUnreadable(args.positional[0], graph.error(), static_cast<size_t>(limit));
  std::vector<std::string> asked = args.list("--fetch");
  for (std::string &target : args.list("--target"))
    asked.push_back(std::move(target));
  Expected<std::vector<Problem>> problems = check(*graph, asked, static_cast<size_t>(limit));
  if (problems && args.has("--fix"))
    problems = fixInto(std::string(*args.value("--fix")), *graph, *problems, asked,
                       static_cast<size_t>(limit));
  if (!problems)
    return report(problems.error());
  if (!args.has("--json"))
    printWants(*graph, asked);
  (args.has("--json") ? printAsJson : printText)(*problems);
  return count(*problems, "error") + count(*problems, "race") ? 1 : 0;
}

constexpr OptionRow options[] = {
    {"--fetch", "T,...", "what one run fetches: races only among what it needs"},
    {"--target", "N,...", "nodes that the run asks for"},
    {"--limit", "N", "at most so many problems of a kind (1000)"},
    {"--fix", "OUT", "write the graph with an edge for each race, in the graph's order"},
    {"--json", "", "print a JSON array"},
};

} // namespace

const Command checkCommand = {
    "check",
    "find malformed nodes, and races: effects on one resource that nothing orders",
    "MODEL",
    1,
    options,
    "  treadle check examples/countdown.pbtxt\n"
    "  0 errors, 0 races\n"
    "Exits 1 if there are any. Races are looked for in each run by itself: of a SavedModel that is "
    "a\n"
    "signature, or its initializer; of other graphs each node that nothing uses, unless --fetch "
    "and\n"
    "--target say what one run asks for.\n",
    check,
};

} // namespace treadle::cli
