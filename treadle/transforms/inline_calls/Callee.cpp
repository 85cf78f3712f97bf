#include "treadle/transforms/inline_calls/Callee.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/import/Keywords.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle::tfg {

StringRef calledFunction(Node node, const FunctionMap &functions) {
  StringRef op = node.opType();
  if (functions.contains(op))
    return op;
  if (opKind(op) != OpKind::Call)
    return {};
  auto callee = node.attr<tf_type::FuncAttr>("f");
  return callee ? callee.getName().getRootReference().getValue() : StringRef();
}

// Returns whether the node only creates a handle that names a resource, which isn't a side effect.
static bool onlyNames(Node node) { return resourceFamily(node.opType()) == "variable"; }

// Returns whether the node creates a resource without a name, which belongs to it: a copy of the
// node would create another one.
static bool ownsResource(Node node) {
  const OpDef *def = lookupOp(node.opType());
  if (!def || !def->isStateful() || onlyNames(node) || !def->findAttr("shared_name"))
    return false;
  auto name = node.attr<StringAttr>("shared_name");
  return !name || name.empty();
}

static bool isEffect(Node node, Effects &effects) {
  return !onlyNames(node) && !effects.isEffectFree(node);
}

namespace {

/// Facts about the nodes of one body.
class BodyFacts {
public:
  BodyFacts(Callee &callee, Effects &effects)
      : callee(callee), order(topologicalOrder(callee.function.getEntry())) {
    for (Operation *op : order)
      if (isEffect(Node(op), effects))
        effectNodes.insert(op);
    for (Value token : callee.function.getReturn().getControl())
      if (Operation *op = token.getDefiningOp())
        effectNodes.insert(op);
  }

  void fill() {
    markNeeded();
    findFirstEffects();
    findLastEffects();
    findWaitingResults();
    findResultArguments();
  }

  /// After a Switch or Enter, it isn't known whether and in which frame nodes run.
  Operation *firstConditionalEffect() {
    llvm::DenseSet<Operation *> conditional;
    for (Operation *op : order) {
      bool isConditional = isV1ControlFlow(Node(op));
      for (Value operand : op->getOperands())
        isConditional = isConditional || conditional.contains(operand.getDefiningOp());
      if (!isConditional)
        continue;
      conditional.insert(op);
      if (effectNodes.contains(op))
        return op;
    }
    return nullptr;
  }

private:
  // A read whose result is unused isn't needed.
  void markNeeded() {
    auto needs = [&](Operation *op) {
      return effectNodes.contains(op) && !opFacts(Node(op).opType()).readsVariables;
    };
    callee.argumentIsNeeded.assign(callee.function.getNumDataArguments(), false);
    auto need = [&](Value value) {
      needed.insert(value.getDefiningOp());
      if (auto argument = dyn_cast<BlockArgument>(value))
        callee.argumentIsNeeded[argument.getArgNumber() / 2] = true;
    };
    for (Value value : callee.function.getReturn()->getOperands())
      need(value);
    for (Operation *op : llvm::reverse(order))
      if (needs(op) || needed.contains(op))
        for (Value operand : op->getOperands())
          need(operand);
    effectNodes.remove_if([&](Operation *op) { return !needs(op) && !needed.contains(op); });
  }

  void findFirstEffects() {
    llvm::DenseSet<Operation *> afterEffect;
    for (Operation *op : order) {
      bool isAfter = llvm::any_of(op->getOperands(), [&](Value operand) {
        return afterEffect.contains(operand.getDefiningOp());
      });
      if (effectNodes.contains(op) && !isAfter)
        callee.firstEffects.push_back(Node(op));
      if (effectNodes.contains(op) || isAfter)
        afterEffect.insert(op);
    }
  }

  void findLastEffects() {
    llvm::DenseSet<Operation *> beforeEffect;
    for (Operation *op : llvm::reverse(order)) {
      bool isEffect = effectNodes.contains(op);
      if (isEffect && !beforeEffect.contains(op))
        callee.lastEffects.push_back(Node(op));
      if (isEffect || beforeEffect.contains(op))
        for (Value operand : op->getOperands())
          beforeEffect.insert(operand.getDefiningOp());
    }
    std::reverse(callee.lastEffects.begin(), callee.lastEffects.end());
  }

  // Each last effect has a bit; if there are more than bits in a word, every result waits.
  void findWaitingResults() {
    ReturnOp returnOp = callee.function.getReturn();
    size_t numEffects = callee.lastEffects.size();
    callee.resultMustWait.assign(returnOp.getData().size(), numEffects > 64);
    if (numEffects == 0 || numEffects > 64)
      return;
    llvm::DenseMap<Operation *, uint64_t> reached;
    for (auto [bit, node] : llvm::enumerate(callee.lastEffects))
      reached[node.getOperation()] = uint64_t(1) << bit;
    for (Operation *op : order) {
      uint64_t mask = reached.lookup(op);
      for (Value operand : op->getOperands())
        mask |= reached.lookup(operand.getDefiningOp());
      if (mask)
        reached[op] = mask;
    }
    uint64_t all = ~uint64_t(0) >> (64 - numEffects);
    for (auto [wait, value] : llvm::zip(callee.resultMustWait, returnOp.getData()))
      wait = reached.lookup(value.getDefiningOp()) != all;
  }

  void findResultArguments() {
    llvm::DenseMap<Operation *, uint64_t> reached;
    auto argumentsOf = [&](Value value) -> uint64_t {
      auto argument = dyn_cast<BlockArgument>(value);
      if (!argument)
        return reached.lookup(value.getDefiningOp());
      unsigned index = argument.getArgNumber() / 2;
      return index < 64 ? uint64_t(1) << index : 0;
    };
    for (Operation *op : order) {
      uint64_t mask = 0;
      for (Value operand : op->getOperands())
        mask |= argumentsOf(operand);
      if (mask)
        reached[op] = mask;
    }
    for (Value value : callee.function.getReturn().getData())
      callee.resultArguments.push_back(argumentsOf(value));
  }

  Callee &callee;
  std::vector<Operation *> order;
  llvm::SetVector<Operation *> effectNodes;
  llvm::DenseSet<Operation *> needed;
};

} // namespace

llvm::DenseSet<Operation *> nodesAfterEffects(Block &body, Effects &effects) {
  llvm::DenseSet<Operation *> found;
  for (Operation *op : topologicalOrder(body)) {
    auto isAfter = [&](Value operand) { return found.contains(operand.getDefiningOp()); };
    if (isEffect(Node(op), effects) || llvm::any_of(op->getOperands(), isAfter))
      found.insert(op);
  }
  return found;
}

static std::string findObstacle(FuncOp function) {
  if (function.isExternal())
    return "it has no body";
  if (function.getGeneric())
    return "it is generic";
  auto isSet = [&](StringRef key) {
    auto flag = function->getAttrOfType<BoolAttr>(key);
    return flag && flag.getValue();
  };
  for (StringRef key : {noInlineKey, mustCompileKey})
    for (std::string spelling : {key.str(), (graphdef::attrPrefix + key).str()})
      if (isSet(spelling))
        return "its attribute '" + spelling + "' is true";
  for (Operation &op : function.getEntry())
    if (op.getNumRegions() != 0)
      return ("its node '" + Node(&op).name() + "' (" + Node(&op).opType() +
              ") has regions; run tfg-region-to-functional first")
          .str();
  for (Operation &op : function.getEntry())
    if (Node::isNode(&op) && ownsResource(Node(&op)))
      return ("its node '" + Node(&op).name() + "' (" + Node(&op).opType() +
              ") owns an unnamed resource")
          .str();
  return "";
}

Callee analyzeCallee(FuncOp function, Effects &effects) {
  Callee callee;
  callee.function = function;
  callee.obstacle = findObstacle(function);
  if (!callee.obstacle.empty())
    return callee;
  for (Operation &op : function.getEntry())
    callee.numNodes += Node::isNode(&op);
  callee.mayBeDead = mayBeDead(function.getEntry());
  BodyFacts facts(callee, effects);
  if (Operation *op = callee.mayBeDead ? facts.firstConditionalEffect() : nullptr)
    callee.conditionalEffect = ("its node '" + Node(op).name() + "' (" + Node(op).opType() +
                                ") has side effects and depends on a Switch or Enter")
                                   .str();
  else
    facts.fill();
  return callee;
}

} // namespace treadle::tfg
