// Loops of v1 control flow made While nodes: what LoopCond needs becomes the condition's function,
// what NextIteration needs the body's.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/LoopVariables.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"
#include "treadle/transforms/v1_to_functional/LoopParts.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class LoopConverter {
public:
  LoopConverter(Conversion &conversion, Block &body, NameScope &names, Loop &loop, LoopParts &parts)
      : conversion(conversion), body(body), names(names), loop(loop), parts(parts) {}
  void convert();

private:
  void mapLoopValues(Outline &outline);
  tf_type::FuncAttr buildCondition(StringRef base);
  tf_type::FuncAttr buildBody(StringRef base);

  Conversion &conversion;
  Block &body;
  NameScope &names;
  Loop &loop;
  LoopParts &parts;
};

} // namespace

static StringRef nameOf(const LoopParts::Variable &variable) {
  return variable.merge ? variable.enter.name() : nameOf(variable.initial());
}

void LoopConverter::mapLoopValues(Outline &outline) {
  SmallVector<Value> arguments;
  for (const LoopParts::Variable &variable : parts.values())
    arguments.push_back(outline.addArgument(variable.type(), nameOf(variable)));
  for (auto [op, index] : parts.carriers())
    outline.map(op->getResult(0), arguments[index]);
}

static SmallVector<Value> tokensOf(Effects &effects, ArrayRef<Operation *> nodes) {
  llvm::DenseSet<Operation *> set(nodes.begin(), nodes.end());
  return effectTokens(effects, nodes, [&](Operation *op) { return set.contains(op); });
}

/// What LoopCond hands on: bool scalars alone, where a While takes anything that isn't empty.
static Value checkedPredicate(Outline &outline, Value predicate, Node loopCond) {
  if (isa<RankedTensorType>(predicate.getType()))
    return predicate;
  OpBuilder &builder = outline.atEnd();
  Type type = RankedTensorType::get({}, builder.getI1Type());
  return NodeBuilder(builder, "EnsureShape")
      .placedAs(loopCond)
      .name(outline.uniqueName(loopCond.name()))
      .attr("T", mlir::TypeAttr::get(builder.getI1Type()))
      .attr("shape", tf_type::ShapeAttr::get(builder.getContext(), ArrayRef<int64_t>()))
      .attr(loopConditionKey, builder.getUnitAttr())
      .inputs(outline.lookup(predicate))
      .results(type)
      .build()
      .results()[0];
}

tf_type::FuncAttr LoopConverter::buildCondition(StringRef base) {
  Node loopCond = parts.condition();
  Outline outline(conversion.module, conversion.functions.unique((base + "_cond").str()),
                  loopCond->getLoc());
  mapLoopValues(outline);
  for (Operation *op : parts.conditionNodes())
    outline.clone(Node(op));
  SmallVector<Value> tokens = tokensOf(conversion.effects, parts.conditionNodes());
  for (Value token : loopCond.control())
    if (outline.contains(token))
      tokens.push_back(token);
  FuncOp function =
      outline.finish(checkedPredicate(outline, loopCond.data()[0], loopCond), {"goes_on"}, tokens);
  convertConditionals(conversion, function.getEntry());
  restoreLowered(function.getEntry());
  return calleeFor(conversion, function);
}

/// What a NextIteration hands on, once what it waits for is over. One that was lowered waits for
/// the call of the body, as the While does.
static Value nextValue(Outline &outline, Node next) {
  SmallVector<Value> waits;
  for (Value token : next.control())
    if (outline.contains(token))
      waits.push_back(outline.lookup(token));
  Value value = outline.lookup(next.data()[0]);
  if (waits.empty() || isLowered(next))
    return value;
  return NodeBuilder(outline.atEnd(), "Identity")
      .name(outline.uniqueName(next.name()))
      .placedAs(next)
      .attr("T", next.attr<Attribute>("T"))
      .inputs(value)
      .control(waits)
      .results(value.getType())
      .build()
      .results()[0];
}

/// Erases the nodes that keep a lowered call of the body in its frame: a While has none.
static void erasePivots(FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.getEntry())) {
    if (!Node::isNode(&op) || !isLowered(Node(&op)) || v1Kind(Node(&op)) != "Identity")
      continue;
    Node node(&op);
    if (isa<BlockArgument>(node.data()[0]) && node.results()[0].use_empty())
      eraseKeepingOrder(node);
  }
}

tf_type::FuncAttr LoopConverter::buildBody(StringRef base) {
  Outline outline(conversion.module, conversion.functions.unique((base + "_body").str()),
                  parts.condition()->getLoc());
  mapLoopValues(outline);
  for (Operation *op : parts.bodyNodes())
    outline.clone(Node(op));
  for (Operation *op : loop.nodes)
    if (parts.isLoopSwitch(op))
      outline.map(op->getResult(1), outline.lookup(op->getOperand(0)));

  SmallVector<Value> results;
  SmallVector<std::string> resultNames;
  for (auto [index, variable] : llvm::enumerate(parts.values())) {
    auto function = cast<FuncOp>(outline.atEnd().getBlock()->getParentOp());
    results.push_back(variable.next ? nextValue(outline, variable.next)
                                    : function.getDataArgument(index));
    resultNames.push_back((variable.next ? variable.next.name() : nameOf(variable)).str());
  }
  FuncOp function =
      outline.finish(results, resultNames, tokensOf(conversion.effects, parts.bodyNodes()));
  erasePivots(function);
  convertConditionals(conversion, function.getEntry());
  restoreLowered(function.getEntry());
  return calleeFor(conversion, function);
}

static std::string loopName(StringRef frameName) {
  auto [scope, last] = frameName.rsplit('/');
  return last.empty() ? frameName.str() : scope.str();
}

// The results of a loop can be fetched by their names: in a graph these stay.
void LoopConverter::convert() {
  std::string base = loopName(loop.frameName.getValue());
  tf_type::FuncAttr condition = buildCondition(base), bodyFunction = buildBody(base);
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  for (const LoopParts::Variable &variable : parts.values()) {
    inputs.push_back(variable.initial());
    types.push_back(variable.type());
  }
  OpBuilder builder(parts.condition().getOperation());
  auto isPure = [&](tf_type::FuncAttr callee) {
    return conversion.effects.isPureFunction(callee.getName().getRootReference());
  };
  bool isStateful = !isPure(condition) || !isPure(bodyFunction);
  NodeBuilder node(builder, functionalOp(OpKind::While, isStateful));
  node.name(names.unique(base))
      .attr("T", elementTypes(builder.getContext(), types))
      .attr("cond", condition)
      .attr("body", bodyFunction)
      .attr("output_shapes", builder.getArrayAttr({}))
      .attr(frameNameKey, loop.frameName)
      .inputs(inputs)
      .control(parts.tokens())
      .results(types);
  if (Attribute parallel = Node(loop.enters.front()).attr("parallel_iterations"))
    node.attr("parallel_iterations", parallel);
  bool isGraph = isa<GraphOp>(body.getParentOp()) && !loop.parent;
  parts.replaceBy(node.build(), [&](Node exit) { return isGraph && !isLowered(exit); });
}

void convertLoops(Conversion &conversion, Block &body) {
  std::vector<Operation *> order = topologicalOrder(body);
  std::vector<std::unique_ptr<Loop>> loops = findLoops(order);
  if (loops.empty())
    return;
  NameScope names(body);
  Deadness deadness(order);
  bool runsUnneededNodes = runsUnneeded(body);
  auto isPure = [&](Node node) { return conversion.effects.isPure(node); };
  auto isKept = [&](Node node) { return conversion.isKept(node); };
  auto runs = [&](Node node) { return runsUnneededNodes && !isPure(node); };
  const LoopRules rules{isKept, isPure, runs};
  for (std::unique_ptr<Loop> &loop : loops) {
    ++conversion.counts.loops;
    LoopParts parts(*loop, rules, deadness);
    if (parts.find()) {
      LoopConverter(conversion, body, names, *loop, parts).convert();
      ++conversion.counts.convertedLoops;
      continue;
    }
    Operation *op = loop->culprit ? loop->culprit : body.getParentOp();
    op->emitRemark() << "loop '" << loop->frameName.getValue()
                     << "' stays as it is: " << loop->problem;
  }
}

} // namespace treadle::tfg
