// Explains the loops of a graph and of its functions.
#include "treadle/analysis/starvation/Starvation.h"
#include "treadle/explain/ClusterExplanation.h"
#include "treadle/explain/LoopExplanation.h"
#include "treadle/graph/Dependencies.h"
#include "treadle/graph/DisplayedFetches.h"
#include "treadle/graph/GraphImpl.h"
#include "treadle/import/SavedModel.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/rewriting/Frames.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace treadle {
namespace {

using Kinds = llvm::StringMap<std::string>;

/// Returns the ops of region loops by name; the analyzed graph has functional ones instead.
Kinds kindsOfRegions(ModuleOp module) {
  Kinds kinds;
  module.walk([&](Operation *op) {
    if (tfg::Node::isNode(op) && op->getNumRegions() != 0)
      kinds[tfg::Node(op).name()] = tfg::Node(op).opType().str();
  });
  return kinds;
}

/// Returns whether Summary counts the node as a loop.
bool isLoop(tfg::Node node) {
  StringRef op = node.opType();
  op.consume_back("Region");
  return isLoop(opKind(op));
}

class ModuleExplainer {
public:
  ModuleExplainer(ModuleOp module, const Kinds &kinds)
      : module(module), kinds(kinds), loops(module), functions(tfg::functionsOf(module)) {
    for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
      noteUses(graph.getNodes().front());
    for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
      if (!function.isExternal())
        noteUses(function.getEntry());
  }

  /// `needed` are the graph's nodes to explain, with the functions that they call; null for all.
  void run(const std::set<Operation *> *needed, Explanation &out) {
    llvm::SetVector<tfg::FuncOp> reached;
    for (tfg::GraphOp graph : module.getOps<tfg::GraphOp>())
      addBody(graph.getNodes().front(), "", needed, out);
    if (needed)
      for (Operation *op : *needed)
        tfg::addReachable(
            tfg::Node(op), [&](StringRef name) { return functions.lookup(name); }, reached);
    for (tfg::FuncOp function : module.getOps<tfg::FuncOp>())
      if (!function.isExternal() && (!needed || reached.contains(function)))
        addBody(function.getEntry(), function.getName().str(), nullptr, out);
  }

private:
  static constexpr std::pair<StringLiteral, std::string_view> roles[] = {
      {"body", "body of "},
      {"cond", "condition of "},
      {"f", "called by "},
      {"then_branch", "a branch of "},
      {"else_branch", "a branch of "},
      {"branches", "a branch of "},
  };

  std::string opOf(tfg::Node node) const {
    auto kind = kinds.find(node.name());
    return kind == kinds.end() ? node.opType().str() : kind->second;
  }

  void noteUses(Block &body) {
    for (Operation &op : body) {
      if (!tfg::Node::isNode(&op))
        continue;
      tfg::Node node(&op);
      std::string who = str("'", node.name().str(), "' (", opOf(node), ")");
      if (functions.contains(node.opType()))
        users[node.opType()].push_back("called by " + who);
      for (NamedAttribute attr : node.attrs()) {
        const auto *role =
            llvm::find_if(roles, [&](auto &entry) { return attr.getName() == entry.first; });
        std::string as(role == std::end(roles) ? "used by " : role->second);
        tfg::forEachFunctionName(attr.getValue(), [&](StringRef name) {
          std::vector<std::string> &list = users[name];
          if (!llvm::is_contained(list, as + who))
            list.push_back(as + who);
        });
      }
    }
  }

  void addBody(Block &block, const std::string &function, const std::set<Operation *> *needed,
               Explanation &out) {
    Explanation::Body body{function, {}, {}};
    bool isGeneric = !function.empty() && functions.lookup(function).getGeneric();
    std::vector<std::pair<Operation *, Explanation::Loop>> found; // and their order
    for (Operation &op : block)
      if (tfg::Node::isNode(&op) && isLoop(tfg::Node(&op)) && (!needed || needed->contains(&op))) {
        found.push_back({&op, loops.explain(tfg::Node(&op))});
        found.back().second.kind = opOf(tfg::Node(&op));
      }
    if (tfg::hasFrames(block))
      addFrames(block, isGeneric, needed, found);
    llvm::stable_sort(found, [](auto &a, auto &b) { return a.first->isBeforeInBlock(b.first); });
    for (auto &[place, loop] : found)
      body.loops.push_back(std::move(loop));
    if (body.loops.empty())
      return;
    body.users = users[function];
    out.bodies.push_back(std::move(body));
  }

  void addFrames(Block &block, bool isGeneric, const std::set<Operation *> *needed,
                 std::vector<std::pair<Operation *, Explanation::Loop>> &found) {
    if (isGeneric)
      return addGenericFrames(block, found);
    tfg::FrameGraph graph(block);
    std::vector<tfg::StarvedNode> starved = tfg::findStarvedNodes(graph);
    // More deeply nested loops don't occur in practice. All nodes of a loop are analyzed.
    constexpr unsigned deepest = 50;
    for (tfg::FrameGraph::Index frame = 0; frame < graph.frames().size(); ++frame) {
      if (graph.frames()[frame].depth > deepest)
        continue;
      Operation *enter = graph.frames()[frame].enter.getOperation();
      if (needed && !needed->contains(enter))
        continue;
      found.push_back({enter, loops.explain(graph, frame)});
      for (const tfg::StarvedNode &one : starved)
        if (!one.decidesOnce && one.frame == graph.frames()[frame].name &&
            (!needed || needed->contains(one.node.getOperation())))
          found.back().second.starved.push_back(tfg::textOf(one));
    }
  }

  /// Values of generic functions have no types, and their edges can't be analyzed.
  void addGenericFrames(Block &block,
                        std::vector<std::pair<Operation *, Explanation::Loop>> &found) {
    llvm::StringSet<> seen;
    for (Operation &op : block)
      if (tfg::Node::isNode(&op))
        if (StringAttr name = tfg::frameName(tfg::Node(&op));
            name && seen.insert(name.getValue()).second)
          found.push_back({&op, LoopExplainer::explainGeneric(tfg::Node(&op), name.getValue())});
  }

  ModuleOp module;
  const Kinds &kinds;
  LoopExplainer loops;
  tfg::FunctionMap functions;
  llvm::StringMap<std::vector<std::string>> users;
};

} // namespace

Expected<Explanation> explain(const Graph &given, const ExplainRequest &asks) {
  if (!given.impl)
    return Unexpected(invalidArgument("the graph is empty; read one with Graph::fromFile"));
  ExplainRequest request = asks;
  bool asksForNames = !request.fetches.empty() || !request.targets.empty();
  if (asksForNames && !request.signature.empty())
    return Unexpected(invalidArgument(
        "a signature can't be combined with fetches or targets: it fetches all of its outputs"));
  if (!asksForNames && !request.all)
    request.fetches = TREADLE_TRY(displayedFetches(given, request.signature, /*all=*/false));
  Kinds kinds = kindsOfRegions(*given.impl->module);
  Expected<Graph> graph = withoutEmbeddedPrograms(given)
                              .and_then(withoutRegions)
                              .and_then([&](const Graph &functional) {
                                return withTraits(functional, request.traits);
                              });
  if (!graph)
    return Unexpected(std::move(graph.error()));
  std::vector<std::string> asked = request.fetches;
  asked.insert(asked.end(), request.targets.begin(), request.targets.end());
  std::set<Operation *> needed = TREADLE_TRY(dependenciesOf(graph->impl->index(), asked));
  SmallVector<ModuleOp> modules = metaGraphs(*graph->impl->module);
  if (modules.empty())
    modules.push_back(*graph->impl->module);
  Explanation out;
  for (ModuleOp module : modules)
    ModuleExplainer(module, kinds).run(asked.empty() ? nullptr : &needed, out);
  TREADLE_TRY(explainClusters(*graph, request, out));
  return out;
}

} // namespace treadle
