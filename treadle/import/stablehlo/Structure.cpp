#include "treadle/import/stablehlo/Structure.h"

#include "treadle/dialect/stablehlo/Ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Transforms/CFGToSCF.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <numeric>

using namespace mlir;

namespace treadle::hlo {
namespace {

/// Creates the ops that `transformCFGToSCF` requests. Its loops test at the end, whereas
/// stablehlo.while tests at the beginning, so the loop carries the condition, which is initially
/// true.
class Structurer final : public CFGToSCFInterface {
public:
  FailureOr<Operation *> createStructuredBranchRegionOp(OpBuilder &b, Operation *branch,
                                                        TypeRange results,
                                                        MutableArrayRef<Region> regions) override {
    Location loc = branch->getLoc();
    if (auto both = dyn_cast<cf::CondBranchOp>(branch))
      return make(b, loc, "stablehlo.if", both.getCondition(), results, regions, {0, 1});
    auto choice = dyn_cast<cf::SwitchOp>(branch);
    if (!choice)
      return branch->emitError("unimplemented: ") << branch->getName().getStringRef();
    // The first region is the default, which stablehlo.case has last.
    SmallVector<unsigned> order(regions.size());
    std::iota(order.begin(), order.end(), 1);
    order.back() = 0;
    return make(b, loc, "stablehlo.case", choice.getFlag(), results, regions, order);
  }

  LogicalResult createStructuredBranchRegionTerminatorOp(Location loc, OpBuilder &b, Operation *,
                                                         Operation *, ValueRange results) override {
    giveBack(b, loc, results);
    return success();
  }

  FailureOr<Operation *> createStructuredDoWhileLoopOp(OpBuilder &b, Operation *replaced,
                                                       ValueRange first, Value condition,
                                                       ValueRange next, Region &&body) override {
    Location loc = replaced->getLoc();
    Type flag = condition.getType();
    SmallVector<Value> carried(next);
    carried.push_back(condition);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(&body.back());
      giveBack(b, loc, carried);
    }
    body.addArgument(flag, loc);
    SmallVector<Value> operands(first);
    operands.push_back(getCFGSwitchValue(loc, b, 1));
    OperationState state(loc, "stablehlo.while");
    state.addOperands(operands);
    state.addTypes(ValueRange(operands).getTypes());
    state.addRegion();
    state.addRegion()->takeBody(body);
    SmallVector<Location> locations(operands.size(), loc);
    OpBuilder::InsertionGuard guard(b);
    Operation *loop = b.create(state);
    Block *test = b.createBlock(&loop->getRegion(0), {}, loop->getResultTypes(), locations);
    giveBack(b, loc, isOne(b, loc, test->getArguments().back()));
    return loop;
  }

  Value getCFGSwitchValue(Location loc, OpBuilder &b, unsigned value) override {
    return constant(loc, b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
  }

  void createCFGSwitchOp(Location loc, OpBuilder &b, Value flag, ArrayRef<unsigned> values,
                         BlockRange blocks, ArrayRef<ValueRange> arguments, Block *otherwise,
                         ValueRange otherArguments) override {
    if (values.empty()) {
      cf::BranchOp::create(b, loc, otherwise, otherArguments);
      return;
    }
    SmallVector<int32_t> cases(values.begin(), values.end());
    cf::SwitchOp::create(b, loc, flag, otherwise, otherArguments, ArrayRef<int32_t>(cases), blocks,
                         arguments);
  }

  /// Undefined values are never read, but loops and conditionals forward them: an empty tensor if
  /// sizes are unknown.
  Value getUndefValue(Location loc, OpBuilder &b, Type type) override {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return constant(loc, b, b.getZeroAttr(type));
    SmallVector<int64_t> shape(tensor.getShape());
    for (int64_t &dim : shape)
      dim = ShapedType::isDynamic(dim) ? 0 : dim;
    TypedAttr zeros = b.getZeroAttr(RankedTensorType::get(shape, tensor.getElementType()));
    OperationState state(loc, "stablehlo.constant");
    state.addAttribute("value", zeros);
    state.addTypes(zeros.getType());
    Value value = b.create(state)->getResult(0);
    if (value.getType() == type)
      return value;
    OperationState cast(loc, "tensor.cast");
    cast.addOperands(value);
    cast.addTypes(type);
    return b.create(cast)->getResult(0);
  }

  FailureOr<Operation *> createUnreachableTerminator(Location loc, OpBuilder &, Region &) override {
    return emitError(loc, "unimplemented: a loop without an exit");
  }

private:
  static void giveBack(OpBuilder &b, Location loc, ValueRange values) {
    stablehlo::ReturnOp::create(b, loc, TypeRange(), values);
  }

  static Value constant(Location loc, OpBuilder &b, TypedAttr value) {
    OperationState state(loc, "arith.constant");
    state.addAttribute("value", value);
    state.addTypes(value.getType());
    return b.create(state)->getResult(0);
  }

  /// Returns the loop condition.
  Value isOne(OpBuilder &b, Location loc, Value flag) {
    OperationState state(loc, "stablehlo.compare");
    state.addOperands({flag, getCFGSwitchValue(loc, b, 1)});
    state.addAttribute("comparison_direction", b.getStringAttr("EQ"));
    state.addTypes(b.getI1Type());
    return b.create(state)->getResult(0);
  }

  /// Creates an op with these regions, in this order.
  static Operation *make(OpBuilder &b, Location loc, StringRef name, Value selector,
                         TypeRange results, MutableArrayRef<Region> regions,
                         ArrayRef<unsigned> order) {
    OperationState state(loc, name);
    state.addOperands(selector);
    state.addTypes(results);
    for (unsigned i : order)
      state.addRegion()->takeBody(regions[i]);
    return b.create(state);
  }
};

/// Renumbers cases to 0, 1, 2, ...; all other values map to the number of cases.
void numberCases(cf::SwitchOp op) {
  auto values = op.getCaseValues();
  if (!values)
    return;
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto constant = [&](const APInt &value, Type type) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  };
  Type narrow = b.getI32Type();
  auto count = static_cast<int64_t>(values->getNumElements());
  Value number = constant(APInt(32, count), narrow);
  SmallVector<APInt> cases = llvm::to_vector(values->getValues<APInt>());
  SmallVector<int32_t> numbers = llvm::to_vector(llvm::seq<int32_t>(0, count));
  for (int32_t i : numbers) {
    Value isCase = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, op.getFlag(),
                                         constant(cases[i], op.getFlag().getType()));
    number = arith::SelectOp::create(b, loc, isCase, constant(APInt(32, i), narrow), number);
  }
  op.getFlagMutable().assign(number);
  op.setCaseValuesAttr(b.getI32VectorAttr(numbers));
}

bool isNumbered(cf::SwitchOp op) {
  int64_t next = 0;
  auto values = op.getCaseValues();
  return op.getFlag().getType().isInteger(32) &&
         (!values || llvm::all_of(values->getValues<APInt>(), [&](const APInt &value) {
           return value.getSExtValue() == next++;
         }));
}

/// Returns a block from which the end of the function isn't reachable; null if there is none.
Block *blockWithoutEnd(Region &body) {
  llvm::SmallPtrSet<Block *, 16> ending;
  SmallVector<Block *> open;
  auto add = [&](Block *block) {
    if (ending.insert(block).second)
      open.push_back(block);
  };
  for (Block &block : body)
    if (block.getNumSuccessors() == 0)
      add(&block);
  while (!open.empty())
    for (Block *before : open.pop_back_val()->getPredecessors())
      add(before);
  for (Block &block : body)
    if (!ending.contains(&block))
      return &block;
  return nullptr;
}

} // namespace

void loadBranches(MLIRContext &context) {
  context.loadDialect<cf::ControlFlowDialect, arith::ArithDialect>();
}

LogicalResult structure(func::FuncOp function) {
  Region &body = function.getBody();
  if (body.empty() || llvm::hasSingleElement(body))
    return success();
  for (Block &block : body)
    if (!isa<cf::BranchOp, cf::CondBranchOp, cf::SwitchOp, func::ReturnOp>(block.getTerminator()))
      return block.getTerminator()->emitError("unimplemented: ")
             << block.getTerminator()->getName().getStringRef()
             << " at the end of a block; expected cf.br, cf.cond_br, cf.switch or return";
  if (Block *block = blockWithoutEnd(body))
    return block->getTerminator()->emitError("unimplemented: a loop without an exit");
  for (Block &block : body)
    if (auto choice = dyn_cast<cf::SwitchOp>(block.getTerminator()); choice && !isNumbered(choice))
      numberCases(choice);
  for (Block &block : body)
    for (Value argument : block.getArguments())
      if (!getElementTypeOrSelf(argument.getType()).isIntOrIndexOrFloat())
        return function.emitError("unimplemented: branches that forward values of type ")
               << argument.getType();
  Structurer structurer;
  DominanceInfo dominance(function);
  return transformCFGToSCF(body, structurer, dominance);
}

} // namespace treadle::hlo
