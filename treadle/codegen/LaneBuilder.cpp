// The loops of a lane.
#include "treadle/codegen/LaneBuilder.h"
#include "treadle/codegen/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace treadle::codegen {

/// Whether two conditions in the two regions of a loop are the same computation on its variables.
static bool areSame(Value a, Value b, LaneLoop &loop, DenseMap<Value, Value> &known) {
  if (a == b)
    return true;
  if (auto found = known.find(a); found != known.end())
    return found->second == b;
  auto first = dyn_cast<BlockArgument>(a), second = dyn_cast<BlockArgument>(b);
  if (first && second)
    return first.getOwner() == loop.made.getBeforeBody() &&
           second.getOwner() == loop.made.getAfterBody() &&
           first.getArgNumber() == second.getArgNumber();
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || x->getNumRegions() || y->getNumRegions() ||
      x->getAttrDictionary() != y->getAttrDictionary() ||
      x->getResultTypes() != y->getResultTypes() || x->getNumOperands() != y->getNumOperands() ||
      isa<rc::RunningOp>(x) ||
      cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber())
    return false;
  for (auto [p, q] : llvm::zip(x->getOperands(), y->getOperands()))
    if (!areSame(p, q, loop, known))
      return false;
  known[a] = b;
  return true;
}

LaneLoop *LaneBuilder::build(scf::WhileOp loop, Block *into, ValueRange numbers,
                             ArrayRef<unsigned> wanted, const DenseMap<unsigned, Value> &inMemory) {
  lanes.assign(numbers.begin(), numbers.end());
  memory = inMemory;
  scopes.emplace_back(nullptr, into);
  b.setInsertionPointToEnd(into);
  return buildLoop(loop, wanted);
}

std::optional<LaneLayout> LaneBuilder::guess(RankedTensorType type) const {
  if (!type)
    return std::nullopt;
  LaneLayout layout(type.getRank(), insideLane);
  for (auto [axis, size] : llvm::enumerate(sizes))
    for (auto [dim, own] : llvm::enumerate(type.getShape()))
      if (own == size && layout[dim] == insideLane) {
        layout[dim] = static_cast<int>(axis);
        break;
      }
  return layout;
}

bool LaneBuilder::hasAllAxes(const LaneLayout &layout) const {
  return llvm::all_of(llvm::seq<int>(0, static_cast<int>(sizes.size())),
                      [&](int axis) { return llvm::is_contained(layout, axis); });
}

LanePlaces LaneBuilder::placesOf(const LaneLayout &layout, ArrayRef<int64_t> place) {
  LanePlaces places;
  const int64_t *next = place.begin();
  for (int axis : layout)
    places.push_back(axis == insideLane ? number(*next++) : lanes[axis]);
  return places;
}

Value LaneBuilder::resultOf(LaneLoop &loop, unsigned variable, const SmallVector<int64_t> &place) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.made->getBlock());
  auto found = loop.variables[variable].carried.find(place);
  return found == loop.variables[variable].carried.end()
             ? Value()
             : joined(loop, found->second, loop.made->getResults());
}

bool LaneBuilder::isOnlyWritten(scf::WhileOp loop, unsigned variable) {
  auto write = loop.getYieldOp().getOperand(variable).getDefiningOp<rc::WriteOp>();
  Value before = loop.getBeforeArguments()[variable], after = loop.getAfterArguments()[variable];
  return write && write.getIsParallel() && write.getNumResults() == 1 &&
         write.getTensors()[0] == after && after.hasOneUse() && before.hasOneUse() &&
         write->hasOneUse() && write->getBlock() == loop.getAfterBody();
}

LaneLoop *LaneBuilder::loopOf(Block *original) {
  for (auto &loop : llvm::reverse(loops))
    if (original == loop->original.getBeforeBody() || original == loop->original.getAfterBody())
      return loop.get();
  return nullptr;
}

std::optional<LanePosition> LaneBuilder::positionOf(ArrayRef<Value> places) {
  LanePosition position;
  for (Value at : places) {
    std::optional<int> axis = axisOf(at);
    std::optional<int64_t> known = getConstantIntValue(at);
    if (!axis && !known)
      return std::nullopt;
    position.layout.push_back(axis.value_or(insideLane));
    if (!axis)
      position.place.push_back(*known);
  }
  return position;
}

Value LaneBuilder::carriedAt(BlockArgument argument, ArrayRef<Value> places) {
  LaneLoop *loop = loopOf(argument.getOwner());
  if (!loop)
    return {};
  std::optional<LanePosition> position = positionOf(places);
  if (!position)
    return {};
  std::optional<unsigned> at =
      carry(*loop, argument.getArgNumber(), position->layout, position->place);
  if (!at)
    return {};
  const bool isBefore = argument.getOwner() == loop->original.getBeforeBody();
  Block *block = isBefore ? loop->made.getBeforeBody() : loop->made.getAfterBody();
  return joined(*loop, *at, block->getArguments());
}

Value LaneBuilder::joined(LaneLoop &loop, unsigned at, ValueRange carried) {
  Type type = getElementTypeOrSelf(loop.original.getInits()[loop.carried[at].variable].getType());
  return isa<ComplexType>(type) ? complexOf(b, loc, {carried[at], carried[at + 1]}) : carried[at];
}

std::optional<unsigned> LaneBuilder::carry(LaneLoop &loop, unsigned variable,
                                           const LaneLayout &layout,
                                           const SmallVector<int64_t> &place) {
  LaneVariable &of = loop.variables[variable];
  if (of.isMemory || (of.layout && *of.layout != layout))
    return std::nullopt;
  of.layout = layout;
  if (auto found = of.carried.find(place); found != of.carried.end())
    return found->second;
  if (std::ssize(loop.carried) == 2 * maxLaneElements)
    return std::nullopt;
  Value init = loop.original.getInits()[variable];
  Value made = isTensor(init) ? element(init, placesOf(layout, place)) : scalar(init);
  if (!made)
    return std::nullopt;
  auto at = static_cast<unsigned>(loop.carried.size());
  of.carried[place] = at;
  auto add = [&](Value init, bool isImaginary) {
    loop.carried.push_back({variable, place, init, isImaginary});
    for (Block *block : {loop.made.getBeforeBody(), loop.made.getAfterBody()})
      block->addArgument(init.getType(), loc);
  };
  if (isa<ComplexType>(made.getType())) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.made->getBlock());
    auto [re, im] = partsOf(b, loc, made);
    add(re, false);
    add(im, true);
  } else {
    add(made, false);
  }
  return at;
}

Value LaneBuilder::anyLane(LaneLoop &loop) {
  Value any = loop.original.getConditionOp().getCondition();
  auto truncated = any.getDefiningOp<arith::TruncIOp>();
  auto extract = (truncated ? truncated.getIn() : any).getDefiningOp<tensor::ExtractOp>();
  auto op = extract ? extract.getTensor().getDefiningOp<linalg::GenericOp>() : nullptr;
  if (!op || op->getBlock() != loop.original.getBeforeBody() ||
      op.getNumReductionLoops() != op.getNumLoops() || op.getNumDpsInputs() != 1 ||
      op->getNumResults() != 1 || !isTensor(op.getInputs()[0]))
    return {};
  Block &block = op.getRegion().front();
  auto merge = block.getTerminator()->getOperand(0).getDefiningOp<arith::OrIOp>();
  Value start = fillOf(op.getOutputs()[0]);
  if (!merge || !start || !matchPattern(start, m_Zero()) ||
      !llvm::is_contained(merge->getOperands(), block.getArgument(1)))
    return {};
  std::optional<LaneLayout> layout = guess(staticType(op.getInputs()[0]));
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  LanePlaces at(op.getNumLoops());
  if (layout && !llvm::is_contained(*layout, insideLane))
    for (auto [expr, axis] : llvm::zip(map.getResults(), *layout))
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        at[dim.getPosition()] = lanes[axis];
  if (llvm::is_contained(at, Value()))
    return {};
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.made.getBeforeBody());
  SmallVector<Value> own = body(op, at, start, 0);
  if (own.empty() || !truncated)
    return own.empty() ? Value() : own.front();
  return b.createOrFold<arith::TruncIOp>(loc, b.getI1Type(), own.front());
}

bool LaneBuilder::forEachPlace(RankedTensorType type, const LaneLayout &layout,
                               llvm::function_ref<bool(const SmallVector<int64_t> &)> visit) {
  SmallVector<int64_t> shape;
  if (type)
    for (auto [size, axis] : llvm::zip(type.getShape(), layout))
      if (axis == insideLane)
        shape.push_back(size);
  const int64_t elements = computeProduct(shape);
  if (elements > maxLaneElements)
    return false;
  SmallVector<int64_t> strides = computeStrides(shape);
  for (int64_t i = 0; i < elements; ++i)
    if (!visit(SmallVector<int64_t>(delinearize(i, strides))))
      return false;
  return true;
}

bool LaneBuilder::carryAll(LaneLoop &loop, unsigned variable) {
  Value init = loop.original.getInits()[variable];
  RankedTensorType type = staticType(init);
  if (isTensor(init) && !type)
    return false;
  LaneVariable &of = loop.variables[variable];
  LaneLayout layout = of.layout ? *of.layout : type ? *guess(type) : LaneLayout();
  return forEachPlace(type, layout, [&](const SmallVector<int64_t> &place) {
    return carry(loop, variable, layout, place).has_value();
  });
}

LaneLoop *LaneBuilder::buildLoop(scf::WhileOp original, ArrayRef<unsigned> wanted) {
  if (!llvm::equal(original.getConditionOp().getArgs(), original.getBeforeArguments()))
    return nullptr;
  for (Block *block : {original.getBeforeBody(), original.getAfterBody()})
    for (Operation &op : *block)
      if (!mayDrop(op))
        return nullptr;
  LaneLoop &loop = *loops.emplace_back(std::make_unique<LaneLoop>());
  loop.original = original;
  loop.variables.resize(original.getInits().size());
  for (auto [i, variable] : llvm::enumerate(loop.variables))
    variable.isMemory = memory.contains(i) && loops.size() == 1;
  loop.made = scf::WhileOp::create(b, loc, TypeRange(), ValueRange());
  b.createBlock(&loop.made.getBefore());
  b.createBlock(&loop.made.getAfter());
  b.setInsertionPoint(loop.made);
  for (unsigned variable : wanted)
    if (!loop.variables[variable].isMemory && !carryAll(loop, variable))
      return nullptr;

  scopes.emplace_back(original.getBeforeBody(), loop.made.getBeforeBody());
  Value condition = anyLane(loop);
  loop.isGuarded = condition != Value();
  if (!condition)
    condition = scalar(original.getConditionOp().getCondition());
  scopes.pop_back();
  if (!condition)
    return nullptr;

  SmallVector<Value> yielded;
  scopes.emplace_back(original.getAfterBody(), loop.made.getAfterBody());
  llvm::scope_exit leave([&] { scopes.pop_back(); });
  if (!yieldCarried(loop, yielded))
    return nullptr;
  for (unsigned variable : wanted)
    if (loop.variables[variable].isMemory && !writeMemory(loop, variable))
      return nullptr;
  if (!yieldCarried(loop, yielded)) // that the elements written depend on
    return nullptr;
  if (loop.isGuarded && !removeGuards(loop, condition, yielded))
    return nullptr;
  finish(loop, condition, yielded);
  return &loop;
}

bool LaneBuilder::yieldCarried(LaneLoop &loop, SmallVectorImpl<Value> &yielded) {
  while (yielded.size() < loop.carried.size()) { // grows
    Value made = nextOf(loop, loop.carried[yielded.size()]);
    if (!made)
      return false;
    yielded.push_back(made);
  }
  return true;
}

Value LaneBuilder::nextOf(LaneLoop &loop, LaneLoop::Carried carried) {
  Value next = loop.original.getYieldOp().getOperand(carried.variable);
  Value made =
      isTensor(next)
          ? element(next, placesOf(*loop.variables[carried.variable].layout, carried.place))
          : scalar(next);
  if (!made || !isa<ComplexType>(made.getType()))
    return made;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.made.getAfterBody());
  auto [re, im] = partsOf(b, loc, made);
  return carried.isImaginary ? im : re;
}

bool LaneBuilder::writeMemory(LaneLoop &loop, unsigned variable) {
  auto write = loop.original.getYieldOp().getOperand(variable).getDefiningOp<rc::WriteOp>();
  SmallVector<int64_t> ranges;
  for (Value size : write.getSizes()) {
    ranges.push_back(getConstantIntValue(size).value_or(0));
    if (!ranges.back())
      return false;
  }
  auto type = RankedTensorType::get(ranges, b.getI1Type());
  LaneLayout layout = *guess(type);
  if (!hasAllAxes(layout))
    return false;
  OpBuilder::InsertionGuard guard(b);
  return forEachPlace(type, layout, [&](const SmallVector<int64_t> &place) {
    b.setInsertionPointToEnd(scopes.back().block);
    Block &body = write.getBody().front();
    IRMapping mapping;
    mapping.map(body.getArgument(0), memory.lookup(variable));
    for (auto [argument, at] : llvm::zip(body.getArguments().drop_front(), placesOf(layout, place)))
      mapping.map(argument, at);
    for (Operation &op : body) {
      auto store = dyn_cast<rc::StoreOp>(op);
      if (failed(store ? copyStore(store, mapping) : copy(op, {}, mapping)))
        return false;
    }
    return true;
  });
}

LogicalResult LaneBuilder::copyStore(rc::StoreOp store, IRMapping &mapping) {
  LanePlaces places;
  LaneLayout layout;
  for (Value place : store.getPlaces()) {
    Value made = inside(place, mapping);
    if (!made)
      return failure();
    places.push_back(unique(made));
    layout.push_back(axisOf(places.back()).value_or(insideLane));
  }
  Value stored = inside(store.getElement(), mapping);
  if (!stored || !hasAllAxes(layout) || !count())
    return failure(); // lanes might write the same element
  rc::StoreOp::create(b, loc, mapping.lookup(store.getTensor()), places, stored);
  return success();
}

bool LaneBuilder::mayDrop(Operation &op) {
  if (auto check = dyn_cast<rc::CheckOp>(op))
    return matchPattern(check.getCondition(), m_One()) ||
           check.getCondition().getDefiningOp<rc::RunningOp>();
  auto kernel = dyn_cast<rc::KernelOp>(op);
  return isa<linalg::LinalgOp, scf::WhileOp, scf::ConditionOp, scf::YieldOp, rc::ReshapeOp,
             rc::RunningOp, rc::WriteOp, rc::ConstantOp>(op) ||
         (kernel && readerOf(kernel)) || isa<tensor::TensorDialect>(op.getDialect()) || isPure(&op);
}

bool LaneBuilder::removeGuards(LaneLoop &loop, Value condition, SmallVectorImpl<Value> &yielded) {
  DenseMap<Value, Value> known;
  Block *after = loop.made.getAfterBody();
  llvm::SmallPtrSet<Operation *, 4> guards;
  for (auto [i, value] : llvm::enumerate(yielded)) {
    if (value == after->getArgument(static_cast<unsigned>(i)))
      continue;
    auto select = value.getDefiningOp<arith::SelectOp>();
    if (!select || select.getFalseValue() != after->getArgument(static_cast<unsigned>(i)) ||
        !areSame(condition, select.getCondition(), loop, known))
      return false;
    if (Operation *op = select.getCondition().getDefiningOp())
      guards.insert(op);
    value = select.getTrueValue();
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(after);
  Value always;
  for (Operation *op : guards) {
    if (!always)
      always = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    op->getResult(0).replaceAllUsesWith(always);
  }
  return true;
}

void LaneBuilder::finish(LaneLoop &loop, Value condition, ArrayRef<Value> yielded) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.made.getBeforeBody());
  Value running = rc::RunningOp::create(b, loc, b.getI1Type());
  condition = arith::AndIOp::create(b, loc, condition, running);
  scf::ConditionOp::create(b, loc, condition, loop.made.getBeforeArguments());
  b.setInsertionPointToEnd(loop.made.getAfterBody());
  scf::YieldOp::create(b, loc, yielded);
  SmallVector<Value> inits;
  for (const LaneLoop::Carried &carried : loop.carried)
    inits.push_back(carried.init);
  Block *around = loop.made->getBlock();
  b.setInsertionPointToEnd(around);
  auto made = scf::WhileOp::create(b, loc, ValueRange(inits).getTypes(), inits);
  made.getBefore().takeBody(loop.made.getBefore());
  made.getAfter().takeBody(loop.made.getAfter());
  loop.made.erase();
  loop.made = made;
}

Value LaneBuilder::resultOfNested(scf::WhileOp op, unsigned result, ArrayRef<Value> places) {
  LaneLoop *&loop = nested[{op, scopes[scopeOf(op->getBlock())].block}];
  if (!loop) {
    SmallVector<unsigned> wanted;
    for (OpResult each : op->getResults())
      if (!each.use_empty())
        wanted.push_back(each.getResultNumber());
    loop = buildLoop(op, wanted);
  }
  if (!loop)
    return {};
  std::optional<LanePosition> position = positionOf(places);
  if (!position || loop->variables[result].layout != position->layout)
    return {};
  return resultOf(*loop, result, position->place);
}

} // namespace treadle::codegen
