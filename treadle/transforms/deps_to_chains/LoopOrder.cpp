#include "treadle/transforms/deps_to_chains/LoopOrder.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/deps_to_chains/Conflicts.h"
#include "treadle/transforms/deps_to_chains/Redundancy.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class Planner {
public:
  Planner(const FunctionalNode &loop, const EffectAnalysis &effects)
      : loop(loop), effects(effects), condition(loop.functions[0]), body(loop.functions[1]) {}

  LoopOrder plan(LoopOverlap overlap) {
    order.loop = loop;
    order.obstacle = findObstacleInside();
    order.isOpaque = !order.obstacle.empty();
    if (order.isOpaque)
      return std::move(order);
    order.obstacle = findObstacle(overlap);
    collect(condition, accesses.condition);
    collect(body, accesses.body);
    SmallVector<ResourceGroup> groups = groupResources(accesses, effects);
    for (const ResourceGroup &group : groups)
      addResource(group);
    order.missing = missingOrder(body.getEntry(), effects);
    order.missingInCondition = missingOrder(condition.getEntry(), effects);
    for (auto [number, group] : llvm::enumerate(groups))
      addChains(group, number);
    findBeforePredicate();
    findBarriers();
    dropRedundant(order);
    dropCarried(order);
    // A chain that passes through all iterations, so that its final value waits for the last one's
    // effects.
    if (SmallVector<Node> last = lastUnchained(order, effects); !last.empty())
      order.chains.push_back({"", std::nullopt, std::nullopt, {}, {}, std::move(last)});
    return std::move(order);
  }

private:
  std::string findObstacleInside() const;
  std::string findObstacle(LoopOverlap overlap) const;
  void collect(FuncOp function, std::vector<LoopAccess> &out) const;
  bool isPrivate(ResourceId id, FuncOp function) const;
  llvm::SmallVector<ResourceId, 2> idsOutside(ResourceId id, FuncOp function) const;
  bool isLoopVariable(ResourceId id) const;
  void addResource(const ResourceGroup &group);
  void addChains(const ResourceGroup &group, unsigned number);
  std::optional<unsigned> ownVariable(const ResourceGroup &group, const GroupOrder &accesses);
  std::string textOf(const ResourceGroup &group) const;
  void findBeforePredicate();
  void findBarriers();
  bool isBarrier(Node node) const;

  const FunctionalNode &loop;
  const EffectAnalysis &effects;
  FuncOp condition, body;
  LoopAccesses accesses;
  LoopOrder order;
};

std::string Planner::findObstacle(LoopOverlap overlap) const {
  if (overlap == LoopOverlap::Off)
    return "loop-overlap is off";
  auto annotation = loop.node.attr<BoolAttr>(statefulParallelismKey);
  if (annotation && !annotation.getValue() && overlap == LoopOverlap::Auto)
    return "its attribute '_stateful_parallelism' is false";
  if (parallelIterations(loop.node) == 1)
    return "its attribute 'parallel_iterations' is 1";
  return "";
}

std::string Planner::findObstacleInside() const {
  if (condition == body)
    return "its condition and its body are one function";
  for (FuncOp function : {condition, body})
    if (Node node = firstV1Node(function.getEntry()))
      return ("node '" + node.name() + "' (" + node.opType() + ") of '" + function.getName() +
              "' is v1 control flow; run tfg-v1-to-functional first")
          .str();
  return "";
}

/// Maps a resource that a function accesses through an argument to the resources that the loop's
/// operand and result refer to.
SmallVector<ResourceId, 2> Planner::idsOutside(ResourceId id, FuncOp function) const {
  const Resource &resource = effects.resource(id);
  if (resource.kind != Resource::Argument || resource.origin != function)
    return {id};
  SmallVector<ResourceId, 2> out;
  Node node = loop.node;
  for (Value value :
       {Value(node.data()[resource.argument]), Value(node.results()[resource.argument])})
    llvm::append_range(out, effects.handles(value));
  if (out.empty())
    out.push_back(id);
  return out;
}

bool Planner::isLoopVariable(ResourceId id) const {
  return llvm::any_of(loop.node.results(),
                      [&](Value value) { return llvm::is_contained(effects.handles(value), id); });
}

/// Returns whether an iteration creates the resource, and no other iteration has a handle to it.
bool Planner::isPrivate(ResourceId id, FuncOp function) const {
  const Resource &resource = effects.resource(id);
  return resource.kind == Resource::Created && resource.origin &&
         resource.origin->getBlock() == &function.getEntry() && !isLoopVariable(id);
}

void Planner::collect(FuncOp function, std::vector<LoopAccess> &out) const {
  for (Operation *op : topologicalOrder(function.getEntry())) {
    LoopAccess access{Node(op), {}};
    for (Effect effect : effects.of(access.node))
      if (!isPrivate(effect.resource, function))
        for (ResourceId id : idsOutside(effect.resource, function))
          access.effects.push_back({id, effect.part, effect.writes});
    if (!access.effects.empty())
      out.push_back(std::move(access));
  }
}

std::string Planner::textOf(const ResourceGroup &group) const {
  std::string text;
  for (ResourceId id : group.ids)
    text += (text.empty() ? "" : ", ") + effects.resource(id).text;
  return text;
}

void Planner::addResource(const ResourceGroup &group) {
  LoopResource &resource = order.resources.emplace_back();
  resource.text = textOf(group);
  resource.ids = group.ids;
  resource.part = group.part;
  for (const auto *list : {&accesses.condition, &accesses.body})
    for (const LoopAccess &access : *list) {
      auto meets = [&](Effect effect) { return group.contains(effect); };
      auto writes = [&](Effect effect) { return effect.writes && meets(effect); };
      if (llvm::any_of(access.effects, meets))
        resource.accesses.push_back(
            {access.node, llvm::any_of(access.effects, writes), list == &accesses.condition});
    }
}

void Planner::addChains(const ResourceGroup &group, unsigned number) {
  GroupOrder accesses(group, this->accesses);
  if (!accesses.needsChain())
    return;
  SmallVector<LoopChain, 2> chains;
  if (accesses.readsOverlap())
    chains = {accesses.ofWrites(), accesses.ofReads()};
  else
    chains = {accesses.whole()};
  if (chains.size() == 1)
    chains.front().variable = ownVariable(group, accesses);
  for (LoopChain &chain : chains) {
    chain.resource = textOf(group);
    chain.resourceNumber = number;
    order.chains.push_back(std::move(chain));
  }
}

/// Returns the loop variable that is the handle of the resource, if all accesses use it.
std::optional<unsigned> Planner::ownVariable(const ResourceGroup &group,
                                             const GroupOrder &accesses) {
  if (group.ids.size() != 1 || accesses.nodesOfBody().empty())
    return std::nullopt;
  auto uses = [](Node node, BlockArgument argument) {
    return llvm::is_contained(node.data(), Value(argument));
  };
  for (Value input : accesses.nodesOfBody().front().data()) {
    auto argument = dyn_cast<BlockArgument>(input);
    if (!argument)
      continue;
    unsigned variable = argument.getArgNumber() / 2;
    ArrayRef<ResourceId> handles = effects.handles(loop.node.results()[variable]);
    BlockArgument inCondition = condition.getDataArgument(variable);
    if (handles == ArrayRef(group.ids) && isPassedThrough(body, variable) &&
        llvm::all_of(accesses.nodesOfBody(), [&](Node node) { return uses(node, argument); }) &&
        llvm::all_of(accesses.nodesOfCondition(),
                     [&](Node node) { return uses(node, inCondition); }))
      return variable;
  }
  return std::nullopt;
}

/// Returns the nodes that `values` depend on.
static llvm::DenseSet<Operation *> nodesBehind(ValueRange values) {
  llvm::DenseSet<Operation *> found;
  SmallVector<Value> open(values);
  while (!open.empty())
    if (Operation *op = open.pop_back_val().getDefiningOp(); op && found.insert(op).second)
      llvm::append_range(open, op->getOperands());
  return found;
}

void Planner::findBeforePredicate() {
  llvm::DenseSet<Operation *> waitedFor = nodesBehind(condition.getReturn().getData());
  for (Operation &op : condition.getEntry()) {
    if (!Node::isNode(&op) || waitedFor.contains(&op))
      continue;
    if (!effects.of(Node(&op)).empty() || mustRun(Node(&op), effects))
      order.beforePredicate.push_back(Node(&op));
  }
}

/// Returns whether the node is a NoOp that only delays Identity nodes which forward results.
bool Planner::isBarrier(Node node) const {
  if (node.opType() != "NoOp" || node.numControl() == 0)
    return false;
  bool holds = false;
  for (Operation *user : node.controlResult().getUsers()) {
    if (isa<ReturnOp>(user))
      continue;
    Node holder(user);
    if (holder.opType() != "Identity" || !holder.controlResult().use_empty() ||
        !llvm::all_of(holder.results()[0].getUsers(), llvm::IsaPred<ReturnOp>))
      return false;
    holds = true;
  }
  return holds;
}

void Planner::findBarriers() {
  for (Operation &op : body.getEntry())
    if (Node::isNode(&op) && isBarrier(Node(&op)))
      order.barriers.push_back(Node(&op));
}

} // namespace

bool isPassedThrough(FuncOp body, unsigned variable) {
  Value value = body.getReturn().getData()[variable];
  for (Node node = definingNode(value); node && node.opType() == "Identity";
       node = definingNode(value))
    value = node->getOperand(0);
  return value == body.getDataArgument(variable);
}

std::vector<LoopOrder> planLoops(ModuleOp module, const EffectAnalysis &effects,
                                 LoopOverlap overlap) {
  const FunctionMap functions = functionsOf(module);
  std::vector<LoopOrder> loops;
  forEachBody(module, [&](Block &body) {
    for (Operation &op : body)
      if (auto node = dyn_cast<Node>(&op))
        if (auto loop = FunctionalNode::of(node, functions);
            loop && loop->kind == FunctionalKind::While)
          loops.push_back(planLoop(*loop, effects, overlap));
  });
  return loops;
}

LoopOrder planLoop(const FunctionalNode &loop, const EffectAnalysis &effects, LoopOverlap overlap) {
  return Planner(loop, effects).plan(overlap);
}

} // namespace treadle::tfg
