// `treadle show`: the contents of a graph, as text and as JSON.
#include "treadle/graph/DisplayedFetches.h"
#include "treadle/graph/ObjectFunctions.h"
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/RequiredPermissions.h"
#include "treadle/tools/cli/ShowParts.h"
#include "treadle/tools/cli/Terminal.h"
#include "treadle/tools/cli/Value.h"

#include <array>
#include <functional>
#include <set>

namespace treadle::cli {
namespace {

using Summary = GraphSummary;

std::string valueText(const Graph::Value &value) {
  return str(value.name, ": ", typeText(value.dtype, value.hasRank, value.dims));
}

/// Prints sections, which are shortened on a terminal unless --full is given.
class Sections {
public:
  Sections(Terminal terminal, bool isFolded) : terminal(terminal), isFolded(isFolded) {}

  template <typename Items, typename Text>
  void print(std::string_view title, const Items &items, Text text) const {
    if (items.empty())
      return;
    constexpr size_t most = 20;
    size_t shown = isFolded && items.size() > most ? most - 1 : items.size();
    cli::print(str("\n", terminal.bold(title), "\n"));
    for (size_t i = 0; i < shown; ++i)
      cli::print(str("  ", text(items[i]), "\n"));
    if (shown < items.size())
      cli::print(str("  ",
                     terminal.faint(str("and ", items.size() - shown, " more; --full shows them")),
                     "\n"));
  }

private:
  const Terminal terminal;
  const bool isFolded;
};

std::string loopText(const Summary::Loop &loop, bool isLoop) {
  return str(loop.name, " (", loop.kind, ")", loop.where.empty() ? "" : str(" in ", loop.where),
             isLoop ? str(", parallel_iterations ", loop.parallelIterations) : "");
}

std::string functionText(const Summary::Function &function) {
  return str(function.name, function.isGeneric ? " (generic)" : "", ": ",
             plural(function.nodes, "node"), ", ", plural(function.args, "argument"), ", ",
             plural(function.results, "result"));
}

std::string signatureText(const Graph::Signature &signature) {
  std::string out = str(signature.name, signature.metaGraph.empty() ? "" : " of {",
                        signature.metaGraph, signature.metaGraph.empty() ? "" : "}",
                        signature.method.empty() ? "" : ", ", signature.method);
  for (auto [arrow, values] :
       {std::pair("<-", &signature.inputs), std::pair("->", &signature.outputs)})
    for (const auto &[name, value] : *values)
      out +=
          str("\n    ", arrow, " ", name, ": ", typeText(value.dtype, value.hasRank, value.dims),
              value.composite.empty() ? "" : str(" of ", value.compositeKind, " ", value.composite),
              " (", value.name, ")");
  return out;
}

/// Formats one line for each variant.
std::string offeredText(const ModelFunction &function) {
  std::string out;
  for (const ModelFunction::Variant &variant : function.variants)
    out += str(out.empty() ? "" : "\n  ", functionText(function, variant),
               variant.problem.empty() ? "" : str("; can't be called: ", variant.problem));
  return out;
}

/// The shown part of a graph: all of it, or the nodes that signatures need.
struct Shown {
  std::vector<Graph::Signature> signatures;
  std::vector<ModelFunction> offered; // functions of a SavedModel's objects
  Summary summary;
  int64_t otherNodes = 0, otherFunctions = 0;
};

Expected<Shown> choose(const Arguments &args, const Graph &graph) {
  std::string name(args.value("--signature").value_or(""));
  auto fetches = TREADLE_TRY(displayedFetches(graph, name, args.has("--all")));
  Shown shown{graph.signatures(), {}, summarize(graph)};
  if (name.empty())
    shown.offered = ObjectFunctions::of(graph).functions;
  else
    std::erase_if(shown.signatures, [&](const auto &signature) { return signature.name != name; });
  if (fetches.empty())
    return shown;
  Summary needed = TREADLE_TRY(summarize(graph, fetches));
  shown.otherNodes = shown.summary.nodes - needed.nodes;
  shown.otherFunctions = std::ssize(shown.summary.functions) - std::ssize(needed.functions);
  shown.summary = std::move(needed);
  return shown;
}

void printText(const Arguments &args, const Graph &graph, const Shown &shown) {
  Terminal terminal = Terminal::ofOutput();
  Sections sections(terminal, terminal.isThere && !args.has("--full"));
  const Summary &summary = shown.summary;
  std::set<std::string> metaGraphs;
  for (const Graph::Signature &signature : shown.signatures)
    metaGraphs.insert(signature.metaGraph);
  if (metaGraphs.size() > 1)
    print(str("a SavedModel of ", metaGraphs.size(),
              " meta graphs, which are graphs of their own: --tree shows their nodes\n"));
  else
    print(str(plural(summary.nodes, "node"), ", ", plural(summary.controlEdges, "control edge"),
              ", ", plural(static_cast<int64_t>(summary.functions.size()), "function"),
              "; version ", summary.producer, ", consumers from ", summary.minConsumer, "\n"));
  std::string functions =
      shown.otherFunctions ? " and " + plural(shown.otherFunctions, "function") : "";
  if (shown.otherNodes)
    print(str("left out: ", plural(shown.otherNodes, "node"), functions,
              " that no shown signature needs; --all shows savers and initializers\n"));
  sections.print("signatures", shown.signatures, signatureText);
  sections.print("functions to call", shown.offered, offeredText);
  // For a SavedModel, signatures and functions are more informative than its graph's inputs and
  // outputs.
  if (shown.signatures.empty() && shown.offered.empty()) {
    sections.print("inputs", graph.inputs(), valueText);
    sections.print("outputs", graph.outputs(), valueText);
  }
  sections.print("variables", summary.variables, valueText);
  sections.print("loops", summary.loops, [](const auto &loop) { return loopText(loop, true); });
  sections.print("requires", permissionLines(summary.wants),
                 [](const std::string &text) { return text; });
  sections.print("conditionals", summary.conditionals,
                 [](const auto &conditional) { return loopText(conditional, false); });
  sections.print("functions", summary.functions, functionText);
  sections.print("ops", summary.ops,
                 [](const Summary::Count &count) { return str(count.op, ": ", count.count); });
}

// ---- JSON

json::Value jsonValue(const Graph::Value &value) {
  json::Object out = object("name", value.name, "dtype", dtypeName(value.dtype), "shape", nullptr);
  if (value.hasRank)
    out["shape"] = listOf(
        value.dims, [](int64_t dim) { return dim < 0 ? json::Value(nullptr) : json::Value(dim); });
  if (!value.composite.empty()) {
    out["composite"] = value.composite;
    out["kind"] = value.compositeKind;
  }
  return out;
}

json::Value jsonNamed(const std::pair<std::string, Graph::Value> &named) {
  return object("key", named.first, "tensor", jsonValue(named.second));
}

json::Value jsonSignature(const Graph::Signature &signature) {
  return object("name", signature.name, "method", signature.method, "meta_graph",
                signature.metaGraph, "inputs", listOf(signature.inputs, jsonNamed), "outputs",
                listOf(signature.outputs, jsonNamed));
}

json::Value jsonFixed(const ModelFunction::Fixed &fixed) {
  return object("name", fixed.name, "value", fixed.value, "default", fixed.isDefault);
}

json::Value jsonVariant(const ModelFunction::Variant &variant) {
  return object("function", variant.signature.name, "inputs",
                listOf(variant.signature.inputs, jsonNamed), "fixed",
                listOf(variant.fixed, jsonFixed), "outputs",
                listOf(variant.signature.outputs, jsonNamed), "problem", variant.problem);
}

json::Value jsonOffered(const ModelFunction &function) {
  return object("name", function.name, "variants", listOf(function.variants, jsonVariant));
}

json::Value jsonWant(const Summary::Want &want) {
  constexpr std::array kinds = {"read", "write", "clock", "python"};
  return object("kind", kinds[want.kind], "op", want.op, "node", want.node, "where", want.where,
                "path", want.path);
}

json::Object jsonConditional(const Summary::Loop &loop) {
  return object("name", loop.name, "kind", loop.kind, "where", loop.where);
}

json::Object jsonLoop(const Summary::Loop &loop) {
  json::Object out = jsonConditional(loop);
  out["parallel_iterations"] = loop.parallelIterations;
  return out;
}

json::Value jsonFunction(const Summary::Function &function) {
  return object("name", function.name, "nodes", function.nodes, "args", function.args, "results",
                function.results, "generic", function.isGeneric);
}

void printAsJson(const Arguments &, const Graph &graph, const Shown &shown) {
  const Summary &summary = shown.summary;
  json::Object ops;
  for (const Summary::Count &count : summary.ops)
    ops[count.op] = count.count;
  printJson(object("nodes", summary.nodes, "control_edges", summary.controlEdges, "producer",
                   summary.producer, "min_consumer", summary.minConsumer, "left_out",
                   object("nodes", shown.otherNodes, "functions", shown.otherFunctions),
                   "signatures", listOf(shown.signatures, jsonSignature), "functions_to_call",
                   listOf(shown.offered, jsonOffered), "inputs", listOf(graph.inputs(), jsonValue),
                   "outputs", listOf(graph.outputs(), jsonValue), "variables",
                   listOf(summary.variables, jsonValue), "wants", listOf(summary.wants, jsonWant),
                   "loops", listOf(summary.loops, jsonLoop), "conditionals",
                   listOf(summary.conditionals, jsonConditional), "functions",
                   listOf(summary.functions, jsonFunction), "ops", std::move(ops)));
}

int show(const Arguments &args) {
  if (args.has("--all") && args.has("--signature"))
    return report(UsageError{"options '--all' and '--signature' can't be used together"});
  Graph graph = TREADLE_OR_REPORT(openModel(args.positional[0]));
  for (const char *part : {"--tree", "--loops"})
    if (args.has(part) && args.has("--json"))
      return report(UsageError{str("options '", part, "' and '--json' can't be used together")});
  if (args.has("--depth") && !args.has("--tree"))
    return report(UsageError{"option '--depth' is for --tree"});
  if (args.has("--tree"))
    return showTree(args, graph);
  if (args.has("--loops"))
    return showLoops(args, graph);
  Shown shown = TREADLE_OR_REPORT(choose(args, graph));
  // Infer missing shapes for printing; if that fails, print the graph as it is.
  Expected<Graph> inferred = graph.runPasses("tfg-shape-inference");
  (args.has("--json") ? printAsJson : printText)(args, inferred ? *inferred : graph, shown);
  return 0;
}

constexpr OptionRow options[] = {
    {"--signature", "S", "only this signature of a SavedModel and the nodes that it needs"},
    {"--all", "", "of a SavedModel also nodes that no signature needs: savers and initializers"},
    {"--tree", "", "print the nodes as a tree of name scopes instead"},
    {"--depth", "N", "number of levels that --tree expands; default: 2"},
    {"--loops", "",
     "print the loops and nested loops instead, and whether their iterations overlap"},
    {"--full", "", "print all lines of each section on a terminal too"},
    {"--json", "", "print one JSON object"},
};

} // namespace

const Command showCommand = {
    "show",
    "print the contents of a graph",
    "MODEL",
    1,
    options,
    "  treadle show examples/countdown.pbtxt\n"
    "  14 nodes, 2 control edges, 0 functions; version 2474, consumers from 0\n"
    "  ...\n",
    show,
};

} // namespace treadle::cli
