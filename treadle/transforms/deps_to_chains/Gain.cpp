#include "treadle/transforms/deps_to_chains/Gain.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/CallGraph.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include <memory>

using namespace mlir;

namespace treadle::tfg {

FunctionLookup lookupIn(ModuleOp module) {
  return [functions = std::make_shared<FunctionMap>(functionsOf(module))](StringRef name) {
    return functions->lookup(name);
  };
}

BlockingNodes::BlockingNodes(ModuleOp module, Kind kind) : BlockingNodes(lookupIn(module), kind) {}

bool BlockingNodes::waits(Node node) {
  StringRef op = node.opType();
  const OpDef *def = lookupOp(op);
  if (kind == ForOthers)
    return (def && def->facts().blocks) || waitsInside(node);
  if (OpTraitsAttr stated = statedTraits(node))
    return stated.getWaits().getValue();
  if (def && (def->facts().blocks || def->facts().runsPython))
    return true;
  return (!def && !function(op)) || waitsInside(node);
}

bool BlockingNodes::waitsInside(Node node) {
  auto contains = [&](FuncOp callee) {
    return llvm::any_of(callee.getEntry(),
                        [&](Operation &op) { return Node::isNode(&op) && waits(Node(&op)); });
  };
  bool found = false;
  forEachCallee(node,
                [&](StringRef name) { found |= anyReachable(name, function, known, contains); });
  return found;
}

namespace {

/// Simulates the loop: each node finishes as soon as its inputs and its own cost allow.
class Schedule {
public:
  Schedule(const LoopOrder &order, const EffectAnalysis &effects, BlockingNodes &waiting)
      : order(order), effects(effects), waiting(waiting), condition(order.loop.functions[0]),
        body(order.loop.functions[1]) {
    for (const auto *edges : {&order.missing, &order.missingInCondition})
      for (OrderEdge edge : *edges)
        waitsFor[edge.to.getOperation()].push_back(edge.from.getOperation());
    for (auto [index, chain] : llvm::enumerate(order.chains)) {
      if (chain.variable)
        continue;
      for (Node node : chain.inBody)
        waitsForChain[node.getOperation()].push_back(index);
      for (Node node : chain.inCondition)
        waitsForChain[node.getOperation()].push_back(index);
    }
    for (FuncOp *function : {&condition, &body})
      nodes.push_back(topologicalOrder(function->getEntry()));
  }

  LoopTimes run() {
    constexpr int iterations = 8;
    variables.assign(body.getNumDataArguments(), 0);
    chains.assign(order.chains.size(), 0);
    for (int i = 0; i < iterations; ++i)
      iterate();
    return {iterations * sequential(), last};
  }

private:
  double costOf(Operation *op) {
    constexpr double ofEffect = 1e-3;
    return waiting.waits(Node(op)) ? 1 : effects.of(Node(op)).empty() ? 0 : ofEffect;
  }

  double sequential() {
    double sum = 0;
    for (const std::vector<Operation *> &list : nodes)
      for (Operation *op : list)
        sum += costOf(op);
    return sum;
  }

  void iterate() {
    runNodes(nodes[0], condition);
    predicate = endOf(condition.getReturn().getData()[0]);
    for (Node node : order.beforePredicate)
      predicate = std::max(predicate, ends.lookup(node.getOperation()));
    runNodes(nodes[1], body);
    std::vector<double> next;
    for (Value value : body.getReturn().getData())
      next.push_back(std::max(predicate, endOfResult(value)));
    variables = std::move(next);
    for (auto [index, chain] : llvm::enumerate(order.chains)) {
      double &time = chain.variable ? variables[*chain.variable] : chains[index];
      time = std::max(time, predicate);
      for (Node node : chain.last)
        time = std::max(time, ends.lookup(node.getOperation()));
    }
  }

  void runNodes(ArrayRef<Operation *> list, FuncOp function) {
    for (Operation *op : list) {
      double start = predicate;
      for (Value value : op->getOperands())
        start = std::max(start, endOf(value));
      if (auto more = waitsFor.find(op); more != waitsFor.end())
        for (Operation *from : more->second)
          start = std::max(start, ends.lookup(from));
      if (auto more = waitsForChain.find(op); more != waitsForChain.end())
        for (size_t chain : more->second)
          start = std::max(start, chains[chain]);
      ends[op] = start + costOf(op);
      last = std::max(last, ends[op]);
    }
  }

  double endOf(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return variables[argument.getArgNumber() / 2];
    return ends.lookup(value.getDefiningOp());
  }

  /// For a value behind a barrier, returns the end as if there were no barrier.
  double endOfResult(Value value) const {
    Node node = definingNode(value);
    bool isHeld = node && llvm::any_of(node.control(), [&](Value token) {
                    return llvm::is_contained(order.barriers, Node(token.getDefiningOp()));
                  });
    if (!isHeld)
      return endOf(value);
    double end = 0;
    for (Value input : node->getOperands())
      if (!llvm::is_contained(order.barriers, Node(input.getDefiningOp())))
        end = std::max(end, endOf(input));
    return end;
  }

  const LoopOrder &order;
  const EffectAnalysis &effects;
  BlockingNodes &waiting;
  FuncOp condition, body;
  std::vector<std::vector<Operation *>> nodes;
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> waitsFor;
  llvm::DenseMap<Operation *, SmallVector<size_t, 2>> waitsForChain;
  std::vector<double> variables, chains;
  llvm::DenseMap<Operation *, double> ends;
  double predicate = 0, last = 0;
};

} // namespace

LoopTimes estimate(const LoopOrder &order, const EffectAnalysis &effects, BlockingNodes &waiting) {
  return Schedule(order, effects, waiting).run();
}

} // namespace treadle::tfg
