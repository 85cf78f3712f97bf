#include "treadle/import/stablehlo/Scf.h"

#include "treadle/dialect/stablehlo/Ops.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Shape/IR/Shape.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace treadle::hlo {

void loadStandardDialects(MLIRContext &context) {
  context.loadDialect<affine::AffineDialect, arith::ArithDialect, math::MathDialect,
                      scf::SCFDialect, shape::ShapeDialect, tensor::TensorDialect>();
}

namespace {

void giveBack(OpBuilder &b, Location loc, ValueRange values) {
  stablehlo::ReturnOp::create(b, loc, TypeRange(), values);
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

/// Adds a block with these arguments to an empty region and moves the builder to its end.
Block *startBlock(OpBuilder &b, Region &region, TypeRange types, Location loc) {
  SmallVector<Location> locations(types.size(), loc);
  return b.createBlock(&region, {}, types, locations);
}

/// Clones the ops of `from` except the terminator; returns the clones of `operands` of the
/// terminator.
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

/// while (i < limit) { body; i += step }; returns its results.
SmallVector<Value> structureFor(scf::ForOp loop) {
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
  SmallVector<Value> results(made->getResults().drop_front());
  replace(loop, results);
  return results;
}

/// Clones the condition region into the test, into the start of each iteration for the values that
/// it forwards, and after the loop for its results.
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

/// Moves the regions and replaces their terminators by those of the other dialect.
void moveRegion(OpBuilder &b, Region &to, Region &from) {
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
  moveRegion(b, made->getRegion(0), op.getThenRegion());
  moveRegion(b, made->getRegion(1), op.getElseRegion());
  replace(op, made->getResults());
  return success();
}

/// Returns the index of the matching case, or the number of cases.
Value caseIndex(OpBuilder &b, scf::IndexSwitchOp op) {
  Location loc = op.getLoc();
  Type narrow = b.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(narrow, value));
  };
  Value number = constant(op.getNumCases());
  for (auto [i, value] : llvm::enumerate(op.getCases())) {
    Value wanted = arith::ConstantIndexOp::create(b, loc, value);
    Value isCase = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, op.getArg(), wanted);
    number = arith::SelectOp::create(b, loc, isCase, constant(static_cast<int64_t>(i)), number);
  }
  return number;
}

/// The default comes after the cases, since an out-of-range index selects the last branch.
LogicalResult structureSwitch(scf::IndexSwitchOp op) {
  OpBuilder b(op);
  Value chosen = caseIndex(b, op);
  unsigned count = op.getNumCases();
  Operation *made = make(b, op.getLoc(), "stablehlo.case", chosen, op.getResultTypes(), count + 1);
  for (unsigned i = 0; i < count; ++i)
    moveRegion(b, made->getRegion(i), op.getCaseRegions()[i]);
  moveRegion(b, made->getRegion(count), op.getDefaultRegion());
  replace(op, made->getResults());
  return success();
}

/// The ranges of a multidimensional loop.
struct Ranges {
  SmallVector<Value> lower, upper, step;
};

/// Builds nested loops, one for each range, around `fill`, which maps indices and carried values to
/// the next carried values. Returns the results of the outermost loop.
SmallVector<Value>
nestLoops(OpBuilder &b, Location loc, const Ranges &ranges, ValueRange inits,
          llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange, ValueRange)> fill) {
  SmallVector<scf::ForOp> loops;
  SmallVector<Value> numbers, carried(inits);
  {
    OpBuilder::InsertionGuard guard(b);
    for (auto [lower, upper, step] : llvm::zip(ranges.lower, ranges.upper, ranges.step)) {
      auto loop = scf::ForOp::create(b, loc, lower, upper, step, carried,
                                     [](OpBuilder &, Location, Value, ValueRange) {});
      loops.push_back(loop);
      numbers.push_back(loop.getInductionVar());
      carried.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      b.setInsertionPointToEnd(loop.getBody());
    }
    SmallVector<Value> next = fill(b, numbers, carried);
    for (scf::ForOp loop : llvm::reverse(loops)) {
      b.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(b, loc, next);
      next.assign(loop.getResults().begin(), loop.getResults().end());
    }
  }
  SmallVector<Value> results(inits);
  for (scf::ForOp loop : llvm::reverse(loops))
    results = structureFor(loop);
  return results;
}

/// Runs the iterations sequentially and reduces each into the previous results.
LogicalResult structureParallel(scf::ParallelOp op) {
  OpBuilder b(op);
  auto end = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  auto fill = [&](OpBuilder &b, ValueRange numbers, ValueRange carried) {
    SmallVector<Value> parts = inlined(b, *op.getBody(), numbers, end.getOperands());
    SmallVector<Value> next;
    for (auto [region, before, part] : llvm::zip(end.getReductions(), carried, parts)) {
      Block &combine = region.front();
      next.push_back(
          inlined(b, combine, ValueRange{before, part}, combine.getTerminator()->getOperands())[0]);
    }
    return next;
  };
  Ranges ranges{llvm::to_vector(op.getLowerBound()), llvm::to_vector(op.getUpperBound()),
                llvm::to_vector(op.getStep())};
  replace(op, nestLoops(b, op.getLoc(), ranges, op.getInitVals(), fill));
  return success();
}

/// Runs the iterations sequentially and inserts each into the previous results.
LogicalResult structureForall(scf::ForallOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Block &body = *op.getBody();
  unsigned rank = op.getRank();
  SmallVector<Operation *> inserts;
  for (Operation &insert : op.getTerminator().getRegion().front()) {
    if (!isa<tensor::ParallelInsertSliceOp>(insert))
      return insert.emitError("unimplemented: ") << insert.getName().getStringRef();
    inserts.push_back(&insert);
  }
  auto fill = [&](OpBuilder &b, ValueRange numbers, ValueRange carried) {
    SmallVector<Value> arguments(numbers), next(carried), used;
    llvm::append_range(arguments, carried);
    for (Operation *insert : inserts)
      llvm::append_range(used, insert->getOperands());
    SmallVector<Value> values = inlined(b, body, arguments, used);
    ValueRange rest = values;
    for (Operation *insert : inserts) {
      auto part = cast<tensor::ParallelInsertSliceOp>(insert);
      unsigned out = cast<BlockArgument>(part.getDest()).getArgNumber() - rank;
      SmallVector<Value> operands(rest.take_front(insert->getNumOperands()));
      rest = rest.drop_front(insert->getNumOperands());
      operands[1] = next[out]; // the source, the destination, offsets, sizes, strides
      OperationState state(loc, tensor::InsertSliceOp::getOperationName());
      state.addOperands(operands);
      state.addTypes(next[out].getType());
      state.addAttributes(insert->getAttrs());
      next[out] = b.create(state)->getResult(0);
    }
    return next;
  };
  auto values = [&](ArrayRef<OpFoldResult> mixed) {
    return getValueOrCreateConstantIndexOp(b, loc, mixed);
  };
  Ranges ranges{values(op.getMixedLowerBound()), values(op.getMixedUpperBound()),
                values(op.getMixedStep())};
  replace(op, nestLoops(b, loc, ranges, op.getOutputs(), fill));
  return success();
}

LogicalResult structureRegion(scf::ExecuteRegionOp op) {
  if (!llvm::hasSingleElement(op.getRegion()))
    return op.emitError("unimplemented: scf.execute_region of several blocks");
  OpBuilder b(op);
  Block &block = op.getRegion().front();
  replace(op, inlined(b, block, {}, block.getTerminator()->getOperands()));
  return success();
}

LogicalResult structureOne(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return (void)structureFor(loop), success();
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return structureWhile(loop);
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return structureIf(choice);
  if (auto choice = dyn_cast<scf::IndexSwitchOp>(op))
    return structureSwitch(choice);
  if (auto loop = dyn_cast<scf::ParallelOp>(op))
    return structureParallel(loop);
  if (auto loop = dyn_cast<scf::ForallOp>(op))
    return structureForall(loop);
  if (auto region = dyn_cast<scf::ExecuteRegionOp>(op))
    return structureRegion(region);
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
