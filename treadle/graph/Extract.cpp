// extract: makes a graph of its own from a part of a graph.
#include "treadle/Freeze.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/graph/SavedModel.h"

#include "treadle/import/Keywords.h"
#include "treadle/import/SavedModel.h"
#include "treadle/runtime/ValueName.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace treadle {
namespace {

/// Returns the graph of a SavedModel's meta graph without the metadata of the SavedModel.
Expected<Graph> plainGraph(const Graph &graph) {
  if (!graph.isSavedModel())
    return graph;
  OwningOpRef<ModuleOp> module = graph.impl->copy();
  TREADLE_TRY(SavedModelFiles::of(module, {}));
  for (StringRef key : {graphdef::savedModelKey, graphdef::filesKey, graphdef::metaGraphKey,
                        graphdef::signaturesKey})
    (*module)->removeAttr(key);
  return derivedGraph(graph, std::move(module));
}

/// Replaces a value by a Placeholder.
Expected<void> feed(Graph &graph, const std::string &name, std::vector<std::string> &fetches) {
  Expected<ValueName> parsed = parseValueName(name);
  if (!parsed || !parsed->iterations.empty())
    return Unexpected(notFound("there is no value '", name, "', expected a name such as 'x:0'"));
  std::string node = parsed->node, value = str(node, ":", parsed->output);
  std::string op = TREADLE_TRY(graph.nodeOp(node));
  if (op == "Placeholder")
    return {};
  Graph::NodeInfo info = TREADLE_TRY(graph.node(node));
  if (static_cast<size_t>(parsed->output) >= info.outputs.size())
    return Unexpected(notFound("there is no value '", name, "': '", node, "' has ",
                               info.outputs.size(), " outputs"));
  const Graph::Value &fed = info.outputs[static_cast<size_t>(parsed->output)];
  bool isOneOfMany = info.outputs.size() > 1;
  Graph::NodeInfo placeholder{
      isOneOfMany ? str(node, "/", parsed->output) : "", "Placeholder", "", {}, {}, {}};
  placeholder.attrs.set("dtype", TypeAttr{fed.dtype});
  placeholder.attrs.set("shape", PartialShape{fed.hasRank, fed.dims});
  std::string made = TREADLE_TRY(graph.addNode(std::move(placeholder)));
  TREADLE_TRY(graph.replaceUses(value, made + ":0"));
  if (isOneOfMany) {
    for (std::string &fetch : fetches)
      if (withOutput(fetch) == value)
        fetch = made + ":0";
    return {};
  }
  TREADLE_TRY(graph.replaceUses("^" + node, "^" + made));
  TREADLE_TRY(graph.removeNode(node));
  return graph.renameNode(made, node);
}

} // namespace

Expected<Graph> extract(const Graph &graph, std::vector<std::string> &fetches,
                        const std::vector<std::string> &feeds) {
  Graph part = TREADLE_TRY(plainGraph(graph));
  for (const std::string &fetch : fetches)
    if (Expected<std::string> op = part.nodeOp(nodeOf(fetch)); !op)
      return Unexpected(std::move(op.error()));
  for (const std::string &name : feeds)
    TREADLE_TRY(feed(part, name, fetches));
  return part.runPasses(str("tfg-prune{fetches=", llvm::join(fetches, ","), "}"));
}

} // namespace treadle
