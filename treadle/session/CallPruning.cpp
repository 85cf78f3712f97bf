#include "treadle/session/CallPruning.h"

#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/session/Pipelines.h"
#include "treadle/transforms/outline_clusters/NativeOps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle {
namespace {

/// The nodes of a graph and its functions that a request needs.
class Liveness {
public:
  /// With `prunes`, arguments of functions are needed if their uses are, and results only if they
  /// are used. Otherwise calls need all arguments, and functions compute all results.
  Liveness(const ModuleIndex &index, tfg::Effects &effects, bool prunes)
      : index(index), effects(effects), prunes(prunes) {}

  void feed(Value value) { values.insert(value); }
  void need(Value value) {
    if (values.insert(value))
      open.push_back(value);
  }
  /// Marks all results of a node as needed.
  void needAllResults(Operation *op) {
    for (Value result : op->getResults())
      need(result);
  }
  void run() {
    while (!open.empty())
      visit(open.pop_back_val());
  }

  llvm::SetVector<Operation *> nodes;

private:
  void visit(Value value);
  void visitArgument(tfg::FuncOp function, unsigned number);
  void enter(tfg::Node node);
  void enterFunctions(tfg::Node node);
  void enterCall(const tfg::FunctionalNode &call);
  void enter(tfg::FuncOp function);
  void needResult(const tfg::FunctionalNode &call, unsigned number);
  void needArgument(const tfg::FunctionalNode &call, unsigned number);
  std::optional<tfg::FunctionalNode> callOf(tfg::Node node);

  const ModuleIndex &index;
  tfg::Effects &effects;
  const bool prunes;
  llvm::SetVector<Value> values;
  SmallVector<Value> open;
  llvm::DenseSet<Operation *> entered; // functions that have been visited
  /// The calls of each function; a call of several functions is shared.
  llvm::DenseMap<Operation *, SmallVector<std::shared_ptr<const tfg::FunctionalNode>, 1>> callers;
  llvm::DenseMap<Block *, bool> withV1;
};

/// Returns the call whose arguments and results may be pruned, if the node is one. Nodes with v1
/// control flow around them aren't: their inputs decide whether they are dead.
std::optional<tfg::FunctionalNode> Liveness::callOf(tfg::Node node) {
  if (!prunes)
    return std::nullopt;
  auto [known, isNew] = withV1.try_emplace(node->getBlock(), false);
  if (isNew)
    known->second = llvm::any_of(*node->getBlock(), [](Operation &op) {
      return tfg::Node::isNode(&op) && tfg::isV1ControlFlow(tfg::Node(&op));
    });
  return known->second ? std::nullopt : tfg::FunctionalNode::of(node, index.allFunctions());
}

void Liveness::visit(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto function = dyn_cast<tfg::FuncOp>(argument.getOwner()->getParentOp()))
      visitArgument(function, argument.getArgNumber() / 2);
    return;
  }
  tfg::Node node(value.getDefiningOp());
  if (nodes.insert(node.getOperation()))
    enter(node);
  if (auto call = tfg::isControl(value) ? std::nullopt : callOf(node))
    needResult(*call, cast<OpResult>(value).getResultNumber());
}

void Liveness::visitArgument(tfg::FuncOp function, unsigned number) {
  for (const auto &call : callers[function])
    needArgument(*call, number);
}

void Liveness::needArgument(const tfg::FunctionalNode &call, unsigned number) {
  need(call.arguments()[number]);
  if (call.kind == tfg::FunctionalKind::While)
    need(call.node->getResult(number));
}

void Liveness::needResult(const tfg::FunctionalNode &call, unsigned number) {
  bool isWhile = call.kind == tfg::FunctionalKind::While;
  if (isWhile)
    need(call.arguments()[number]);
  for (tfg::FuncOp function : ArrayRef(call.functions).drop_front(isWhile))
    need(function.getReturn().getData()[number]);
}

void Liveness::enter(tfg::Node node) {
  for (Value token : node.control())
    need(token);
  if (auto call = callOf(node))
    return enterCall(*call);
  for (Value input : node.data())
    need(input);
  enterFunctions(node);
}

/// A node that isn't a known call needs all results of the functions that it names.
void Liveness::enterFunctions(tfg::Node node) {
  auto needWhole = [&](StringRef name) {
    tfg::FuncOp function = index.function(name);
    if (!function || function.isExternal() || function.getGeneric())
      return;
    enter(function);
    for (Value result : function.getReturn().getData())
      need(result);
  };
  needWhole(node.opType());
  for (NamedAttribute attr : node.attrs())
    tfg::forEachFunctionName(attr.getValue(), needWhole);
}

void Liveness::enterCall(const tfg::FunctionalNode &call) {
  for (Value input : call.node.data().take_front(call.firstArgument))
    need(input);
  auto shared = std::make_shared<const tfg::FunctionalNode>(call);
  for (tfg::FuncOp function : call.functions) {
    enter(function);
    callers[function].push_back(shared);
    for (unsigned i = 0; i < function.getNumDataArguments(); ++i) {
      BlockArgument argument = function.getDataArgument(i);
      if (values.contains(argument) || values.contains(tfg::FuncOp::getControlTokenOf(argument)))
        needArgument(call, i);
    }
  }
  if (call.kind == tfg::FunctionalKind::While)
    need(tfg::FuncOp(call.functions[0]).getReturn().getData()[0]);
}

/// Adds the nodes that run whenever the function is called.
void Liveness::enter(tfg::FuncOp function) {
  if (!entered.insert(function).second)
    return;
  for (Value token : function.getReturn().getControl())
    need(token);
  for (Operation &op : function.getEntry())
    if (tfg::Node::isNode(&op) && !effects.isPure(tfg::Node(&op)))
      need(tfg::Node(&op).controlResult());
}

/// Adds the nodes of a request; a fetched node keeps all its outputs.
void add(Liveness &live, const ModuleIndex &index, const Request &request) {
  for (const std::string &feed : request.feeds)
    if (Expected<ValueName> name = parseValueName(feed); name)
      if (tfg::Node node = index.node(name->node);
          node && static_cast<unsigned>(name->output) < node.numResults())
        live.feed(node->getResult(name->output));
  for (const auto *names : {&request.fetches, &request.targets})
    for (const std::string &text : *names)
      if (tfg::Node node = index.node(nodeOf(text)))
        live.needAllResults(node.getOperation());
  live.run();
}

/// The cost of running a node whose result isn't needed.
enum class UnneededCost { None, Little, Much };

/// Nodes that may fail or have effects cost much, and so do nodes that aren't elementwise.
UnneededCost unneededCostOf(tfg::Node node, tfg::Effects &effects) {
  StringRef op = node.opType();
  if (op == "Placeholder" || (!effects.isPure(node) && !op.ends_with("HandleOp")))
    return UnneededCost::Much;
  if (node.numData() == 0 || op == "Identity")
    return UnneededCost::None;
  return tfg::computesElements(op) ? UnneededCost::Little : UnneededCost::Much;
}

bool computesUnneeded(const Graph &graph, const Request &request) {
  const ModuleIndex &index = graph.impl->index();
  if (!index.graph() || index.allFunctions().empty())
    return false;
  tfg::Effects effects(*graph.impl->module);
  Liveness all(index, effects, /*prunes=*/false), pruned(index, effects, /*prunes=*/true);
  add(all, index, request);
  add(pruned, index, request);
  // Each TensorFlow loop has an iteration counter that is often unused; copying the graph would
  // cost more than running it.
  constexpr int maxCheapNodes = 8;
  int little = 0;
  for (Operation *op : all.nodes) {
    if (pruned.nodes.contains(op))
      continue;
    UnneededCost waste = unneededCostOf(tfg::Node(op), effects);
    little += waste == UnneededCost::Little;
    if (waste == UnneededCost::Much || little > maxCheapNodes)
      return true;
  }
  return false;
}

} // namespace

std::optional<Graph> withPrunedCalls(const Graph &graph, const Request &request) {
  if (!computesUnneeded(graph, request))
    return std::nullopt;
  std::string keep;
  for (const auto *names : {&request.feeds, &request.fetches, &request.targets})
    for (const std::string &name : *names)
      keep += (keep.empty() ? "keep=" : ",") + nodeOf(name);
  std::string prune = pruningTo(request, /*functions=*/true);
  OwningOpRef<ModuleOp> copy = graph.impl->copy();
  if (!runOn(*copy, str(prune, ",tfg-prune-arguments{graph=true split=true ", keep, "},", prune)))
    return std::nullopt;
  return derivedGraph(graph, std::move(copy));
}

} // namespace treadle
