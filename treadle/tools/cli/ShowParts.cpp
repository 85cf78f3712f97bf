#include "treadle/tools/cli/ShowParts.h"

#include "treadle/graph/DisplayedFetches.h"
#include "treadle/graph/Scopes.h"
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/Terminal.h"

#include <set>

namespace treadle::cli {
namespace {

/// Formats the tree of scopes. Scopes below the depth, and those with very many nodes, are one
/// line.
class TreeText {
public:
  TreeText(Terminal terminal, int64_t depth) : terminal(terminal), depth(depth) {}

  std::string of(const Scope &body) {
    text.clear();
    std::string title = body.name.empty() ? "graph" : str("function '", body.name, "'");
    text += str(terminal.bold(title), ": ", plural(body.nodes, "node"), "\n");
    addInner(body, 1);
    return text;
  }

private:
  static constexpr size_t maxInner = 40;

  void addInner(const Scope &scope, int64_t level) {
    std::string indent(static_cast<size_t>(2 * level), ' ');
    size_t shown = scope.inner.size() > maxInner ? maxInner - 1 : scope.inner.size();
    for (size_t i = 0; i < shown; ++i) {
      const Scope &one = scope.inner[i];
      if (!one.op.empty()) {
        text += str(indent, one.name, " ", terminal.op(str("(", one.op, ")")), "\n");
        continue;
      }
      text += str(indent, one.name, "/ ", terminal.faint(plural(one.nodes, "node")), "\n");
      if (level < depth)
        addInner(one, level + 1);
    }
    if (shown < scope.inner.size())
      text += str(indent, terminal.faint(str("and ", scope.inner.size() - shown, " more")), "\n");
  }

  const Terminal terminal;
  const int64_t depth;
  std::string text;
};

/// Formats loops with the loops in their bodies.
class LoopsText {
public:
  LoopsText(Terminal terminal, const Explanation &explanation)
      : terminal(terminal), explanation(explanation) {}

  std::string write() {
    for (const Explanation::Body &body : explanation.bodies)
      if (body.function.empty())
        add(body, 0);
    // Print loops of functions that no loop calls.
    for (const Explanation::Body &body : explanation.bodies)
      if (!seen.contains(body.function)) {
        text += terminal.bold(str("function '", body.function, "'")) + "\n";
        add(body, 1);
      }
    return text.empty() ? "no loops\n" : text;
  }

private:
  void add(const Explanation::Body &body, size_t level) {
    if (!seen.insert(body.function).second)
      return;
    std::string indent(2 * level, ' ');
    for (const Explanation::Loop &loop : body.loops) {
      text += str(indent, terminal.loop(loop.name), " (", loop.kind,
                  loop.line.empty() ? "" : ", " + loop.line, "), parallel_iterations ",
                  loop.parallelIterations, "\n", indent, "  ", terminal.faint(loop.inAuto), "\n");
      for (const std::string &function : loop.functions)
        for (const Explanation::Body &inner : explanation.bodies)
          if (inner.function == function)
            add(inner, level + 1);
    }
  }

  const Terminal terminal;
  const Explanation &explanation;
  std::set<std::string> seen;
  std::string text;
};

} // namespace

int showTree(const Arguments &args, const Graph &graph) {
  int64_t depth = TREADLE_OR_REPORT(args.integer("--depth", 2, 1));
  Expected<std::vector<Scope>> bodies =
      displayedFetches(graph, args.value("--signature").value_or(""), args.has("--all"))
          .and_then(
              [&](const std::vector<std::string> &fetches) { return scopesOf(graph, fetches); });
  if (!bodies)
    return report(bodies.error());
  TreeText tree(Terminal::ofOutput(), depth);
  for (const Scope &body : *bodies)
    print(tree.of(body));
  return 0;
}

int showLoops(const Arguments &args, const Graph &graph) {
  ExplainRequest request;
  request.signature = args.value("--signature").value_or("");
  request.all = args.has("--all");
  Explanation found = TREADLE_OR_REPORT(explain(graph, request));
  print(LoopsText(Terminal::ofOutput(), found).write());
  return 0;
}

} // namespace treadle::cli
