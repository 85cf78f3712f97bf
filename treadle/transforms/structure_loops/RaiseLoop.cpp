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

  /// Moves the nodes, but copies those with uses elsewhere.
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

  /// Returns the counterpart of a frame's value in the region; null for a token from outside.
  Value inside(Value value) const {
    Operation *op = value.getDefiningOp();
    if (members.contains(op))
      return copies.lookupOrDefault(value);
    if (isControl(value)) // nodes that carry a variable have run when the region starts
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

  /// Returns the tokens of nodes that must run before the region completes; for a function, those
  /// with side effects.
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

/// Returns LoopCond's input as a boolean scalar, or adds a check: a While would accept any
/// non-empty value.
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

/// Returns a value for the next iteration that depends on the control inputs of its NextIteration.
/// If the loop was lowered, the value waits for the call of the body, as in the While.
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

/// Erases the nodes that keep a lowered call of the body in its frame; a region doesn't need them.
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
  Node(goesOn).setName(loopCond.name()); // the node whose errors it reports
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

/// Records the names of the future functions, and of their arguments and results.
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
