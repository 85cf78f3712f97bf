// The elements of tensors in a lane.
#include "treadle/codegen/LaneBuilder.h"
#include "treadle/codegen/Scalars.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace treadle::codegen {

/// Limit on recursion: the length of a chain of tensors of an iteration.
static constexpr int maxDepth = 300;

Value LaneBuilder::number(int64_t value) {
  Value &made = numbers[value];
  if (!made) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(scopes.front().block);
    made = arith::ConstantIndexOp::create(b, loc, value);
  }
  return made;
}

Value LaneBuilder::unique(Value place) {
  std::optional<int64_t> known = getConstantIntValue(place);
  return known && place.getType().isIndex() ? number(*known) : place;
}

std::optional<int> LaneBuilder::axisOf(Value place) {
  auto found = llvm::find(lanes, place);
  return found == lanes.end() ? std::nullopt
                              : std::optional(static_cast<int>(found - lanes.begin()));
}

size_t LaneBuilder::scopeOf(Block *original) {
  for (size_t i = scopes.size(); i-- > 1;)
    if (scopes[i].original == original)
      return i;
  return 0;
}

size_t LaneBuilder::scopeOfBuilt(Value value) {
  for (size_t i = scopes.size(); i-- > 1;)
    if (scopes[i].block == value.getParentBlock())
      return i;
  return 0;
}

LogicalResult LaneBuilder::clone(Operation &op, IRMapping &mapping) {
  if (!count())
    return failure();
  Operation *made = b.clone(op, mapping);
  SmallVector<Value> folded;
  if (succeeded(b.tryFold(made, folded)) && !folded.empty()) { // empty: in place
    for (auto [result, value] : llvm::zip(op.getResults(), folded))
      mapping.map(result, unique(value));
    made->erase();
  }
  return success();
}

Value LaneBuilder::scalar(Value value) {
  const size_t at = scopeOf(value.getParentBlock());
  if (at == 0) // defined outside of the loop
    return unique(value);
  if (Value known = scopes[at].scalars.lookup(value))
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(scopes[at].block);
  auto argument = dyn_cast<BlockArgument>(value);
  Value made = argument ? carriedAt(argument, {}) : compute(value);
  if (made)
    scopes[at].scalars[value] = made;
  return made;
}

Value LaneBuilder::compute(Value value) {
  Operation *op = value.getDefiningOp();
  if (depth > maxDepth)
    return {};
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return resultOfNested(loop, cast<OpResult>(value).getResultNumber(), {});
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    LanePlaces places;
    for (Value index : extract.getIndices()) {
      places.push_back(scalar(index));
      if (!places.back())
        return {};
    }
    return element(extract.getTensor(), places);
  }
  if (op->getNumRegions() || !isScalarOp(op))
    return {};
  IRMapping mapping;
  for (Value operand : op->getOperands()) {
    Value made = scalar(operand);
    if (!made)
      return {};
    mapping.map(operand, made);
  }
  if (failed(clone(*op, mapping)))
    return {};
  return mapping.lookup(value);
}

bool LaneBuilder::isScalarOp(Operation *op) {
  return (isa<arith::ArithDialect, math::MathDialect, complex::ComplexDialect>(op->getDialect()) ||
          isa<UnrealizedConversionCastOp>(op)) &&
         llvm::none_of(op->getOperands(), isTensor) && llvm::none_of(op->getResults(), isTensor);
}

Value LaneBuilder::element(Value tensor, LanePlaces places) {
  RankedTensorType type = staticType(tensor);
  if (!type || depth > maxDepth)
    return {};
  for (auto [place, size] : llvm::zip(places, type.getShape()))
    place = size == 1 ? number(0) : unique(place);
  size_t at = scopeOf(tensor.getParentBlock());
  for (Value place : places)
    at = std::max(at, scopeOfBuilt(place));
  std::pair<void *, SmallVector<void *>> key(tensor.getAsOpaquePointer(), {});
  for (Value place : places)
    key.second.push_back(place.getAsOpaquePointer());
  for (size_t i = at + 1; i-- > 0;)
    if (auto found = scopes[i].elements.find(key); found != scopes[i].elements.end())
      return found->second;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(scopes[at].block);
  ++depth;
  Value made = computeElement(tensor, type, places);
  --depth;
  if (made)
    scopes[at].elements[key] = made;
  return made;
}

Value LaneBuilder::computeElement(Value tensor, RankedTensorType type, ArrayRef<Value> places) {
  if (matchPattern(tensor, m_Constant()) || scopeOf(tensor.getParentBlock()) == 0)
    return readOutside(tensor, type, places);
  if (auto argument = dyn_cast<BlockArgument>(tensor))
    return carriedAt(argument, places);
  Operation *op = tensor.getDefiningOp();
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return ofGeneric(generic, cast<OpResult>(tensor).getResultNumber(), places);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return element(cast.getSource(), LanePlaces(places));
  if (auto elements = dyn_cast<tensor::FromElementsOp>(op)) {
    std::optional<int64_t> at = linearPlace(type, places);
    return at ? scalar(elements.getElements()[*at]) : Value();
  }
  if (auto reshape = dyn_cast<rc::ReshapeOp>(op))
    return ofReshape(reshape, type, places);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return resultOfNested(loop, cast<OpResult>(tensor).getResultNumber(), places);
  if (auto kernel = dyn_cast<rc::KernelOp>(op))
    if (KernelReader read = readerOf(kernel))
      return (this->*read)(kernel, type, places);
  return {};
}

LaneBuilder::KernelReader LaneBuilder::readerOf(rc::KernelOp op) {
  return op.getOp() == "XlaDynamicSlice" ? &LaneBuilder::ofSlice
         : op.getOp() == "Transpose"     ? &LaneBuilder::ofTranspose
                                         : nullptr;
}

Value LaneBuilder::ofTranspose(rc::KernelOp op, RankedTensorType, ArrayRef<Value> places) {
  Value from = op.getInputs()[0], permutation = op.getInputs()[1];
  if (!staticType(from) || !staticType(permutation))
    return {};
  LanePlaces at(places.size());
  for (auto [i, place] : llvm::enumerate(places)) {
    Value dim = element(permutation, {number(static_cast<int64_t>(i))});
    std::optional<int64_t> known = dim ? getConstantIntValue(dim) : std::nullopt;
    if (!known || *known < 0 || *known >= std::ssize(at))
      return {};
    at[*known] = place;
  }
  return llvm::is_contained(at, Value()) ? Value() : element(from, at);
}

Value LaneBuilder::ofSlice(rc::KernelOp op, RankedTensorType type, ArrayRef<Value> places) {
  Value from = op.getInputs()[0], starts = op.getInputs()[1];
  RankedTensorType whole = staticType(from);
  if (!whole || !staticType(starts))
    return {};
  LanePlaces at;
  for (auto [dim, place] : llvm::enumerate(places)) {
    const int64_t last = whole.getDimSize(dim) - type.getDimSize(dim);
    Value start = last ? element(starts, {number(static_cast<int64_t>(dim))}) : number(0);
    if (!start)
      return {};
    if (last) {
      start = b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), start);
      start = b.createOrFold<arith::MinSIOp>(loc, start, number(last));
      start = b.createOrFold<arith::MaxSIOp>(loc, start, number(0));
    }
    at.push_back(b.createOrFold<arith::AddIOp>(loc, start, place));
  }
  return element(from, at);
}

std::optional<int64_t> LaneBuilder::linearPlace(RankedTensorType type, ArrayRef<Value> places) {
  int64_t at = 0;
  for (auto [place, size] : llvm::zip(places, type.getShape())) {
    std::optional<int64_t> known = getConstantIntValue(place);
    if (!known)
      return std::nullopt;
    at = at * size + *known;
  }
  return at;
}

Value LaneBuilder::readOutside(Value tensor, RankedTensorType type, ArrayRef<Value> places) {
  if (!count())
    return {};
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)) && type.getElementType().isIntOrFloat()) {
    if (constant.isSplat())
      return arith::ConstantOp::create(b, loc, constant.getSplatValue<TypedAttr>());
    if (std::optional<int64_t> at = linearPlace(type, places))
      return arith::ConstantOp::create(b, loc, constant.getValues<TypedAttr>()[*at]);
  }
  if (scopeOf(tensor.getParentBlock()) != 0)
    return {};
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.getInputs()[0];
  if (auto elements = tensor.getDefiningOp<tensor::FromElementsOp>())
    if (std::optional<int64_t> at = linearPlace(type, places))
      return elements.getElements()[*at];
  if (tensor.getDefiningOp<tensor::EmptyOp>())
    return {};
  return tensor::ExtractOp::create(b, loc, tensor, places);
}

Value LaneBuilder::ofReshape(rc::ReshapeOp op, RankedTensorType type, ArrayRef<Value> places) {
  RankedTensorType from = staticType(op.getFrom());
  if (!from || !op.getDims().empty())
    return {};
  // Groups of dimensions with as many elements on both sides.
  LanePlaces result(from.getRank());
  int64_t i = 0, k = 0;
  while (i < from.getRank() || k < type.getRank()) {
    const int64_t firstFrom = i, firstTo = k;
    int64_t own = i < from.getRank() ? from.getDimSize(i++) : 1;
    int64_t other = k < type.getRank() ? type.getDimSize(k++) : 1;
    while (own != other) {
      if (own < other ? i == from.getRank() : k == type.getRank())
        return {};
      own < other ? own *= from.getDimSize(i++) : other *= type.getDimSize(k++);
    }
    if (!regroup(type, places, firstTo, k, from, result, firstFrom, i))
      return {};
  }
  return element(op.getFrom(), result);
}

bool LaneBuilder::regroup(RankedTensorType to, ArrayRef<Value> places, int64_t firstTo,
                          int64_t lastTo, RankedTensorType from, LanePlaces &result,
                          int64_t firstFrom, int64_t lastFrom) {
  auto isLong = [](RankedTensorType type) {
    return [type](int64_t dim) { return type.getDimSize(dim) != 1; };
  };
  SmallVector<int64_t> longFrom, longTo;
  llvm::copy_if(llvm::seq(firstFrom, lastFrom), std::back_inserter(longFrom), isLong(from));
  llvm::copy_if(llvm::seq(firstTo, lastTo), std::back_inserter(longTo), isLong(to));
  for (int64_t dim = firstFrom; dim < lastFrom; ++dim)
    result[dim] = number(0);
  if (longFrom.size() == 1 && longTo.size() == 1) {
    result[longFrom[0]] = places[longTo[0]];
    return true;
  }
  int64_t at = 0;
  for (int64_t dim : longTo) {
    std::optional<int64_t> known = getConstantIntValue(places[dim]);
    if (!known)
      return false;
    at = at * to.getDimSize(dim) + *known;
  }
  for (int64_t dim : llvm::reverse(longFrom)) {
    result[dim] = number(at % from.getDimSize(dim));
    at /= from.getDimSize(dim);
  }
  return true;
}

Value LaneBuilder::ofGeneric(linalg::GenericOp op, unsigned result, ArrayRef<Value> places) {
  LanePlaces loops = loopsOf(op, result, places);
  SmallVector<unsigned> reductions;
  for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      reductions.push_back(static_cast<unsigned>(i));
    else if (!loops[i])
      return {};
  SmallVector<Value> sums;
  for (Value init : op.getOutputs())
    sums.push_back(reductions.empty() ? Value() : fillOf(init));
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  int64_t steps = 1;
  for (unsigned loop : reductions)
    if (llvm::MulOverflow(steps, ranges[loop], steps) || steps > maxLaneElements)
      return {};
  if (steps == 0 || (!reductions.empty() && llvm::is_contained(sums, Value())))
    return {};
  for (int64_t step = 0; step < steps; ++step) {
    int64_t left = step;
    for (unsigned loop : llvm::reverse(reductions)) {
      loops[loop] = number(left % ranges[loop]);
      left /= ranges[loop];
    }
    SmallVector<Value> next = body(op, loops, sums, reductions.empty() ? int(result) : -1);
    if (next.empty())
      return {};
    sums = std::move(next);
  }
  return sums[result];
}

LanePlaces LaneBuilder::loopsOf(linalg::GenericOp op, unsigned result, ArrayRef<Value> places) {
  LanePlaces loops(op.getNumLoops());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  for (auto [expr, place] : llvm::zip(map.getResults(), places))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = place;
  return loops;
}

Value LaneBuilder::fillOf(Value init) {
  while (auto cast = init.getDefiningOp<tensor::CastOp>())
    init = cast.getSource();
  auto fill = init.getDefiningOp<linalg::FillOp>();
  return fill ? scalar(fill.getInputs()[0]) : Value();
}

SmallVector<Value> LaneBuilder::body(linalg::GenericOp op, ArrayRef<Value> loops,
                                     ArrayRef<Value> sums, int only) {
  Block &block = op.getRegion().front();
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    if (op.isDpsInit(&operand)) {
      Value sum = sums[argument.getArgNumber() - op.getNumDpsInputs()];
      if (!sum)
        return {};
      mapping.map(argument, sum);
      continue;
    }
    LanePlaces at;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        at.push_back(loops[dim.getPosition()]);
      else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
        at.push_back(number(constant.getValue()));
      else
        return {};
    Value made = isTensor(operand.get()) ? element(operand.get(), at) : scalar(operand.get());
    if (!made)
      return {};
    mapping.map(argument, made);
  }
  if (failed(copy(block, loops, mapping)))
    return {};
  SmallVector<Value> yielded;
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands())) {
    Value made = only < 0 || only == int(i) ? inside(value, mapping) : value;
    if (!made)
      return {};
    yielded.push_back(made);
  }
  return yielded;
}

Value LaneBuilder::inside(Value value, IRMapping &mapping) {
  if (Value made = mapping.lookupOrNull(value))
    return made;
  Value made = isTensor(value) ? Value() : scalar(value);
  if (made)
    mapping.map(value, made);
  return made;
}

LogicalResult LaneBuilder::copy(Block &block, ArrayRef<Value> loops, IRMapping &mapping) {
  for (Operation &op : block.without_terminator())
    if (failed(copy(op, loops, mapping)))
      return failure();
  return success();
}

LogicalResult LaneBuilder::copy(Operation &op, ArrayRef<Value> loops, IRMapping &mapping) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return mapping.map(index.getResult(), loops[index.getDim()]), success();
  SmallVector<Value> operands;
  const bool isExtract = isa<tensor::ExtractOp>(op);
  for (Value operand : op.getOperands().drop_front(isExtract ? 1 : 0)) {
    operands.push_back(inside(operand, mapping));
    if (!operands.back())
      return failure();
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Value made = element(extract.getTensor(), LanePlaces(operands.begin(), operands.end()));
    return mapping.map(extract.getResult(), made), success(made != Value());
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    auto expanded = affine::expandAffineMap(b, loc, apply.getAffineMap(), operands);
    return mapping.map(apply.getResult(), unique(expanded->front())), success();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    std::optional<int64_t> taken = getConstantIntValue(operands[0]);
    if (!taken)
      return failure();
    Region &side = *taken ? branch.getThenRegion() : branch.getElseRegion();
    if (side.empty())
      return success();
    if (failed(copy(side.front(), loops, mapping)))
      return failure();
    for (auto [result, value] :
         llvm::zip(branch.getResults(), side.front().getTerminator()->getOperands())) {
      Value made = inside(value, mapping);
      if (!made)
        return failure();
      mapping.map(result, made);
    }
    return success();
  }
  if (op.getNumRegions() || !isPure(&op))
    return failure();
  return clone(op, mapping);
}

} // namespace treadle::codegen
