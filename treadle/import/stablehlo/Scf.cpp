#include "treadle/import/stablehlo/Scf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace treadle::hlo {

void loadStandardDialects(MLIRContext &context) {
  context.loadDialect<arith::ArithDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
}

namespace {

void giveBack(OpBuilder &b, Location loc, ValueRange values) {
  OperationState state(loc, "stablehlo.return");
  state.addOperands(values);
  b.create(state);
}

Operation *make(OpBuilder &b, Location loc, StringRef name, ValueRange operands, TypeRange types,
                unsigned numRegions) {
  OperationState state(loc, name);
  state.addOperands(operands);
  state.addTypes(types);
  for (unsigned i = 0; i < numRegions; ++i)
    state.addRegion();
  return b.create(state);
}

/// A block of these arguments in an empty region; the builder goes to its end.
Block *startBlock(OpBuilder &b, Region &region, TypeRange types, Location loc) {
  SmallVector<Location> locations(types.size(), loc);
  return b.createBlock(&region, {}, types, locations);
}

/// Copies what is before the end of `from` here; gives what `operands` of its end have become.
SmallVector<Value> inlined(OpBuilder &b, Block &from, ValueRange arguments, ValueRange operands) {
  IRMapping mapping;
  mapping.map(from.getArguments(), arguments);
  for (Operation &op : from.without_terminator())
    b.clone(op, mapping);
  return llvm::map_to_vector(operands, [&](Value v) { return mapping.lookupOrDefault(v); });
}

void replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  op->erase();
}

/// while (i < limit) { body; i += step }
LogicalResult structureFor(scf::ForOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> carried{loop.getLowerBound()};
  llvm::append_range(carried, loop.getInitArgs());
  Operation *made = make(b, loc, "stablehlo.while", carried, ValueRange(carried).getTypes(), 2);
  TypeRange types = made->getResultTypes();
  Block *test = startBlock(b, made->getRegion(0), types, loc);
  auto predicate = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  giveBack(b, loc,
           arith::CmpIOp::create(b, loc, predicate, test->getArgument(0), loop.getUpperBound())
               .getResult());
  Block *body = startBlock(b, made->getRegion(1), types, loc);
  SmallVector<Value> next{Value()};
  llvm::append_range(next, inlined(b, *loop.getBody(), body->getArguments(),
                                   loop.getBody()->getTerminator()->getOperands()));
  next[0] = arith::AddIOp::create(b, loc, body->getArgument(0), loop.getStep());
  giveBack(b, loc, next);
  replace(loop, made->getResults().drop_front());
  return success();
}

/// The condition region runs in the test, at the start of each iteration for what it hands on, and
/// once after the loop for its results.
LogicalResult structureWhile(scf::WhileOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Block &before = *loop.getBeforeBody(), &after = *loop.getAfterBody();
  scf::ConditionOp end = loop.getConditionOp();
  Operation *made = make(b, loc, "stablehlo.while", loop.getInits(), loop.getInits().getTypes(), 2);
  Block *test = startBlock(b, made->getRegion(0), made->getResultTypes(), loc);
  giveBack(b, loc, inlined(b, before, test->getArguments(), end.getCondition()));
  Block *body = startBlock(b, made->getRegion(1), made->getResultTypes(), loc);
  SmallVector<Value> handed = inlined(b, before, body->getArguments(), end.getArgs());
  giveBack(b, loc, inlined(b, after, handed, after.getTerminator()->getOperands()));
  b.setInsertionPoint(loop);
  replace(loop, inlined(b, before, made->getResults(), end.getArgs()));
  return success();
}

/// Regions as they are, with an end of the other dialect.
void takeRegion(OpBuilder &b, Region &to, Region &from) {
  to.takeBody(from);
  if (to.empty())
    to.emplaceBlock();
  OpBuilder::InsertionGuard guard(b);
  Block &block = to.front();
  b.setInsertionPointToEnd(&block);
  if (block.empty() || !isa<scf::YieldOp>(block.back()))
    return giveBack(b, to.getLoc(), {});
  Operation *end = &block.back();
  giveBack(b, end->getLoc(), end->getOperands());
  end->erase();
}

LogicalResult structureIf(scf::IfOp op) {
  OpBuilder b(op);
  Operation *made = make(b, op.getLoc(), "stablehlo.if", op.getCondition(), op.getResultTypes(), 2);
  takeRegion(b, made->getRegion(0), op.getThenRegion());
  takeRegion(b, made->getRegion(1), op.getElseRegion());
  replace(op, made->getResults());
  return success();
}

/// The default is behind the cases, as values out of range choose the last branch.
LogicalResult structureSwitch(scf::IndexSwitchOp op) {
  for (auto [i, value] : llvm::enumerate(op.getCases()))
    if (value != static_cast<int64_t>(i))
      return op.emitError("unimplemented: scf.index_switch of cases other than 0, 1, 2, ...");
  OpBuilder b(op);
  Value chosen = arith::IndexCastOp::create(b, op.getLoc(), b.getI32Type(), op.getArg());
  unsigned count = op.getNumCases();
  Operation *made = make(b, op.getLoc(), "stablehlo.case", chosen, op.getResultTypes(), count + 1);
  for (unsigned i = 0; i < count; ++i)
    takeRegion(b, made->getRegion(i), op.getCaseRegions()[i]);
  takeRegion(b, made->getRegion(count), op.getDefaultRegion());
  replace(op, made->getResults());
  return success();
}

LogicalResult structureOne(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return structureFor(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return structureWhile(loop);
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return structureIf(choice);
  if (auto choice = dyn_cast<scf::IndexSwitchOp>(op))
    return structureSwitch(choice);
  return op->emitError("unimplemented: ") << op->getName().getStringRef();
}

} // namespace

LogicalResult structureScf(func::FuncOp function) {
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) { // inner ones first
    if (op->getName().getDialectNamespace() == "scf" &&
        !isa<scf::YieldOp, scf::ConditionOp, scf::ReduceOp, scf::ReduceReturnOp, scf::InParallelOp>(
            op))
      found.push_back(op);
  });
  for (Operation *op : found)
    if (failed(structureOne(op)))
      return failure();
  return success();
}

} // namespace treadle::hlo
