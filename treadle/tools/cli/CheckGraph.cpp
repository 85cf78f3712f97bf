// `treadle check`: finds problems of a graph without running it.
#include "treadle/graph/MalformedNodes.h"
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/RequiredPermissions.h"

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

/// Adds a control edge from the earlier node of each race to the later one, and prints a note.
/// Skips races between iterations of a loop, which an edge can't fix, and edges that would make a
/// run execute more nodes than before.
Expected<void> fixRaces(Graph &graph, const std::vector<Problem> &problems) {
  for (const Problem &problem : problems) {
    if (problem.kind != "race" || problem.nodes.size() != 2 || problem.nodes[0] == problem.nodes[1])
      continue;
    const std::string &first = problem.nodes[0], &second = problem.nodes[1];
    if (!problem.secondAlone.empty()) {
      note(str("no edge between '", first, "' and '", second, "': ", problem.secondAlone,
               " needs '", second, "' only, and would then run both"));
      continue;
    }
    std::vector<std::string> inputs = TREADLE_TRY(graph.nodeInputs(second));
    inputs.push_back("^" + first);
    // Fails if the edge would close a cycle: then added edges order the two nodes already.
    if (graph.setNodeInputs(second, inputs))
      note(str("added an edge: '", second, "' waits for '", first, "'; runs of '", second,
               "' now run both"));
  }
  return {};
}

/// Writes the graph with its races fixed to a file; returns the problems that remain.
Expected<std::vector<Problem>> writeFixed(const std::string &path, Graph graph,
                                          const std::vector<Problem> &problems,
                                          const std::vector<std::string> &asked, size_t limit) {
  TREADLE_TRY(fixRaces(graph, problems));
  TREADLE_TRY(graph.toFile(path));
  return check(graph, asked, limit);
}

/// Prints the permissions that runs of these names require; without names, runs of the signatures.
void printPermissions(const Graph &graph, std::vector<std::string> asked) {
  if (asked.empty())
    asked = graph.signatureFetches().value_or(std::vector<std::string>());
  Expected<GraphSummary> summary = asked.empty() ? summarize(graph) : summarize(graph, asked);
  if (!summary)
    summary = summarize(graph);
  for (const std::string &text : permissionLines(summary->wants))
    print(str("requires: ", text, "\n"));
}

/// Reports all malformed nodes of a file that can't be read because of them, one line each;
/// otherwise the given error.
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
    problems = writeFixed(std::string(*args.value("--fix")), *graph, *problems, asked,
                          static_cast<size_t>(limit));
  if (!problems)
    return report(problems.error());
  if (!args.has("--json"))
    printPermissions(*graph, asked);
  (args.has("--json") ? printAsJson : printText)(*problems);
  return count(*problems, "error") + count(*problems, "race") ? 1 : 0;
}

constexpr OptionRow options[] = {
    {"--fetch", "T,...", "fetches of one run: find races only among the nodes that it needs"},
    {"--target", "N,...", "targets of this run"},
    {"--limit", "N", "maximum number of problems of each kind; default: 1000"},
    {"--fix", "OUT",
     "write the graph with a control edge for each race, in the order of the graph"},
    {"--json", "", "print a JSON array"},
};

} // namespace

const Command checkCommand = {
    "check",
    "find malformed nodes and races (unordered side effects on one resource)",
    "MODEL",
    1,
    options,
    "  treadle check examples/countdown.pbtxt\n"
    "  0 errors, 0 races\n"
    "Exits 1 if there are errors or races. Each run is checked separately: the runs of a "
    "SavedModel\n"
    "are its signatures and its initializer; those of other graphs are the nodes without uses,\n"
    "unless --fetch and --target define one run.\n",
    check,
};

} // namespace treadle::cli
