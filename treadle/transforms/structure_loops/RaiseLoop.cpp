#include "treadle/transforms/structure_loops/RaiseLoop.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/dialect/Regions.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/LoopVariables.h"
#include "treadle/rewriting/Outline.h"
#include "treadle/rewriting/RegionForms.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// Fills a region with nodes of the loop.
class RegionFiller {
public:
  RegionFiller(Region &region, const LoopParts &parts, ArrayRef<Operation *> nodes)
      : parts(parts), body(region.emplaceBlock()), members(nodes.begin(), nodes.end()),
        sorted(nodes) {
    for (const LoopParts::Variable &variable : parts.values())
      body.addArgument(variable.type(), variable.enter->getLoc());
    for (const LoopParts::Variable &variable : parts.values())
      body.addArgument(variable.enter.controlResult().getType(), variable.enter->getLoc());
    llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  /// Moves the nodes, but copies those that others need too.
  void take(function_ref<bool(Operation *)> isShared) {
    for (Operation *&op : sorted)
      if (isShared(op)) {
        Operation *copy = op->clone();
        body.push_back(copy);
        copies.map(op->getResults(), copy->getResults());
        op = copy;
      } else {
        op->moveBefore(&body, body.end());
      }
    for (Operation *op : sorted)
      takeOperands(op);
  }

  /// What a value of the frame is in the region; null for a token of something outside of it.
  Value inside(Value value) const {
    Operation *op = value.getDefiningOp();
    if (members.contains(op))
      return copies.lookupOrDefault(value);
    if (isControl(value)) // what carries a variable is over where the region begins
      return {};
    if (std::optional<unsigned> index = parts.indexOf(value))
      return body.getArgument(*index);
    return parts.isLoopSwitch(op) ? inside(op->getOperand(0)) : value;
  }

  SmallVector<Value> inside(ValueRange tokens) const {
    SmallVector<Value> found;
    for (Value token : tokens)
      if (Value here = inside(token))
        found.push_back(here);
    return found;
  }

  /// What must have run when the region is done; in a function that's what has effects.
  SmallVector<Value> tokens(const LoopFunctions *functions) const {
    if (functions)
      return effectTokens(functions->effects, body);
    auto isWaitedFor = [&](OpOperand &use) {
      return use.getOwner()->getBlock() == &body || !isControl(use.get());
    };
    SmallVector<Value> tokens;
    for (Operation *op : sorted)
      if (llvm::none_of(op->getUses(), isWaitedFor))
        tokens.push_back(Node(op).controlResult());
    return tokens;
  }

  OpBuilder atEnd() { return OpBuilder::atBlockEnd(&body); }
  Block &block() { return body; }
  ValueRange values() { return body.getArguments().take_front(body.getNumArguments() / 2); }

private:
  void takeOperands(Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (Value value = inside(operand))
        operands.push_back(value);
    if (!llvm::equal(operands, op->getOperands()))
      op->setOperands(operands);
  }

  const LoopParts &parts;
  Block &body;
  const llvm::DenseSet<Operation *> members;
  SmallVector<Operation *> sorted;
  IRMapping copies;
};

StringRef nameOf(const LoopParts::Variable &variable) {
  return variable.merge ? variable.enter.name() : tfg::nameOf(variable.initial());
}

/// What LoopCond hands on: bool scalars alone, where a While takes anything that isn't empty.
Value checkedPredicate(OpBuilder builder, Value predicate, Node loopCond) {
  if (isa<RankedTensorType>(predicate.getType()))
    return predicate;
  Type type = RankedTensorType::get({}, builder.getI1Type());
  return NodeBuilder(builder, "EnsureShape")
      .placedAs(loopCond)
      .name(loopCond.name())
      .attr("T", TypeAttr::get(builder.getI1Type()))
      .attr("shape", tf_type::ShapeAttr::get(builder.getContext(), ArrayRef<int64_t>()))
      .attr(loopConditionKey, builder.getUnitAttr())
      .inputs(predicate)
      .results(type)
      .build()
      .results()[0];
}

/// A value for the next iteration, once what its NextIteration waits for is over. One that was
/// lowered waits for the call of the body, as the While does.
Value afterWaits(RegionFiller &body, Value value, Node next) {
  SmallVector<Value> waits = body.inside(next.control());
  if (waits.empty() || isLowered(next))
    return value;
  OpBuilder builder = body.atEnd();
  return NodeBuilder(builder, "Identity")
      .name(NameScope(body.block()).unique(next.name()))
      .placedAs(next)
      .attr("T", next.attr<Attribute>("T"))
      .inputs(value)
      .control(waits)
      .results(value.getType())
      .build()
      .results()[0];
}

/// Erases the nodes that keep a lowered call of the body in its frame: a region has none.
void erasePivots(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (!isLowered(Node(&op)) || Node(&op).opType() != "Identity")
      continue;
    Node node(&op);
    if (isa<BlockArgument>(node.data()[0]) && node.results()[0].use_empty())
      eraseKeepingOrder(node);
  }
}

WhileRegionOp makeLoop(Loop &loop, const LoopParts &parts, StringRef name) {
  OpBuilder builder(parts.condition().getOperation());
  OperationState state(parts.condition()->getLoc(), WhileRegionOp::getOperationName());
  for (const LoopParts::Variable &variable : parts.values()) {
    state.operands.push_back(variable.initial());
    state.types.push_back(variable.type());
  }
  llvm::append_range(state.operands, llvm::SetVector<Value>(llvm::from_range, parts.tokens()));
  state.types.push_back(parts.condition().controlResult().getType());
  state.addAttribute("parallel_iterations",
                     builder.getI64IntegerAttr(parallelIterations(Node(loop.enters.front()))));
  state.addRegion();
  state.addRegion();
  auto made = cast<WhileRegionOp>(builder.create(state));
  Node(made).setName(name);
  return made;
}

void fillCondition(Region &region, const LoopParts &parts, const LoopFunctions *functions) {
  Node loopCond = parts.condition();
  llvm::DenseSet<Operation *> inBody(parts.bodyNodes().begin(), parts.bodyNodes().end());
  RegionFiller condition(region, parts, parts.conditionNodes());
  condition.take([&](Operation *op) { return inBody.contains(op); });
  Value predicate = condition.inside(loopCond.data()[0]);
  llvm::SetVector<Value> tokens(llvm::from_range, condition.tokens(functions));
  if (functions) {
    predicate = checkedPredicate(condition.atEnd(), predicate, loopCond);
    tokens.insert_range(condition.inside(loopCond.control()));
  }
  OpBuilder end = condition.atEnd();
  auto goesOn = ConditionOp::create(end, loopCond->getLoc(), predicate, condition.values(),
                                    tokens.getArrayRef());
  Node(goesOn).setName(loopCond.name()); // whose errors it reports
}

void fillBody(Region &region, const LoopParts &parts, const LoopFunctions *functions) {
  RegionFiller body(region, parts, parts.bodyNodes());
  body.take([](Operation *) { return false; });
  SmallVector<Value> tokens = body.tokens(functions), next;
  if (functions)
    erasePivots(body.block());
  for (auto [variable, argument] : llvm::zip_equal(parts.values(), body.values())) {
    Value value = variable.next ? body.inside(variable.next.data()[0]) : argument;
    next.push_back(functions && variable.next ? afterWaits(body, value, variable.next) : value);
  }
  OpBuilder end = body.atEnd();
  YieldOp::create(end, parts.condition()->getLoc(), next, tokens);
}

/// What the functions will be called, and their arguments and results.
void nameFunctions(WhileRegionOp op, const LoopParts &parts, const LoopFunctions &functions) {
  SmallVector<std::string> arguments, results;
  for (const LoopParts::Variable &variable : parts.values()) {
    arguments.push_back(nameOf(variable).str());
    results.push_back((variable.next ? variable.next.name() : nameOf(variable)).str());
  }
  MLIRContext *context = op.getContext();
  op.setCondRegionAttrsAttr(regionAttrsOf(context, functions.condition, arguments, {"goes_on"}));
  op.setBodyRegionAttrsAttr(regionAttrsOf(context, functions.body, arguments, results));
}

} // namespace

Node raiseLoop(Loop &loop, const LoopParts &parts, StringRef name, const LoopFunctions *functions) {
  WhileRegionOp made = makeLoop(loop, parts, name);
  fillCondition(made.getCondRegion(), parts, functions);
  fillBody(made.getBodyRegion(), parts, functions);
  if (functions)
    nameFunctions(made, parts, *functions);
  return Node(made);
}

} // namespace treadle::tfg
