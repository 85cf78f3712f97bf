// Translates window reductions, and cumulative operations along an axis.
#include "treadle/codegen/CompensatedSum.h"
#include "treadle/codegen/ComplexForms.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/ScalarBody.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

using Places = SmallVector<int64_t>;
using Scalars = SmallVector<Value>;

std::optional<Places> shapeOf(const TracedValue &typed) {
  auto type = dyn_cast<RankedTensorType>(typed.value.getType());
  return type && type.hasStaticShape() && type.getRank() && isNative(type.getElementType())
             ? std::optional(Places(type.getShape()))
             : std::nullopt;
}

bool isScalar(const TracedValue &typed) { return isNative(typed.value.getType()) && !typed.list; }

Places allOf(ArrayRef<int64_t> places, llvm::function_ref<bool(size_t)> wanted) {
  Places found;
  for (auto [i, place] : llvm::enumerate(places))
    if (wanted(i))
      found.push_back(place);
  return found;
}

/// Emits a loop with carried values; returns nullopt if `inside` does.
using Inside = llvm::function_ref<std::optional<Scalars>(Value index, ArrayRef<Value> values)>;
std::optional<Scalars> fold(Translator &t, int64_t size, ArrayRef<Value> start, Inside inside) {
  auto loop = scf::ForOp::create(t.b, t.loc, t.index(0), t.index(size), t.index(1), start);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  std::optional<Scalars> next =
      inside(loop.getInductionVar(), SmallVector<Value>(loop.getRegionIterArgs()));
  scf::YieldOp::create(t.b, t.loc, next ? *next : Scalars(loop.getRegionIterArgs()));
  return next ? std::optional(Scalars(loop.getResults())) : std::nullopt;
}

/// A cumulative operation along an axis.
struct Cumulative {
  int64_t axis;
  bool isReverse = false, isExclusive = false;
};

/// The state of a cumulative operation: its initial value, its update by an element, and the result
/// for the current state.
struct State {
  Scalars start;
  llvm::function_ref<std::optional<Scalars>(ArrayRef<Value> state, Value element)> next;
  llvm::function_ref<Value(ArrayRef<Value> state)> value;
  bool isResult = false; // the state is just the previous result
};

/// Emits a cumulative operation. Along the last axis, the state is kept in registers; otherwise, if
/// the previous result suffices as state, the loops over the other axes are the inner ones.
MaybeValues emitCumulative(Translator &t, const TracedValue &from, const Cumulative &how,
                           const State &state, KnownValue known) {
  Places shape = *shapeOf(from);
  Type element = elementOf(from.value.getType());
  int64_t rank = std::ssize(shape), size = shape[how.axis];
  // With larger strides, the kernel is faster: it processes several columns at a time.
  constexpr int64_t maxStride = 1 << 14;
  bool isLast = how.axis + 1 == rank, isAlone = isLast || !state.isResult;
  if (!isLast && (how.isExclusive || (!state.isResult && computeProduct(shape) > maxStride)))
    return std::nullopt;
  std::optional<SmallVector<Value>> copy = generateAll(t, shape, element, [&](ArrayRef<Value> at) {
    return std::optional(Scalars{t.elementAt(t.b, t.loc, from, at)});
  });
  if (!copy)
    return std::nullopt;
  Places others = allOf(shape, [&](size_t i) { return static_cast<int64_t>(i) != how.axis; });
  Places loops = isAlone ? others : Places{size};
  if (!isAlone)
    llvm::append_range(loops, others);
  auto turned = [&](Value index) -> Value {
    return how.isReverse ? t.b.createOrFold<arith::SubIOp>(t.loc, t.index(size - 1), index) : index;
  };
  auto placeOf = [&](Value along, ValueRange rest) {
    SmallVector<Value> place(rest);
    place.insert(place.begin() + how.axis, turned(along));
    return place;
  };
  auto inRegister = [&](Value tensor, ValueRange rest) {
    auto step = [&](Value index, ArrayRef<Value> sum) -> std::optional<Scalars> {
      SmallVector<Value> place = placeOf(index, rest);
      Value own = rc::CurrentOp::create(t.b, t.loc, element, tensor, place);
      std::optional<Scalars> next = state.next(sum, own);
      if (!next)
        return std::nullopt;
      rc::StoreOp::create(t.b, t.loc, tensor, place, state.value(how.isExclusive ? sum : *next));
      return next;
    };
    return fold(t, size, state.start, step).has_value();
  };
  auto inMemory = [&](Value tensor, ValueRange indices) {
    SmallVector<Value> place = placeOf(indices[0], indices.drop_front());
    Value isFirst =
        arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::slt, indices[0], t.index(1));
    auto before = scf::IfOp::create(t.b, t.loc, element, isFirst, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(before.thenBlock());
      scf::YieldOp::create(t.b, t.loc, state.start);
      t.b.setInsertionPointToStart(before.elseBlock());
      Value previous = t.b.createOrFold<arith::SubIOp>(t.loc, indices[0], t.index(1));
      Value sum = rc::CurrentOp::create(t.b, t.loc, element, tensor,
                                        placeOf(previous, indices.drop_front()));
      scf::YieldOp::create(t.b, t.loc, sum);
    }
    Value own = rc::CurrentOp::create(t.b, t.loc, element, tensor, place);
    std::optional<Scalars> sum = state.next(SmallVector<Value>(before.getResults()), own);
    if (sum)
      rc::StoreOp::create(t.b, t.loc, tensor, place, sum->front());
    return sum.has_value();
  };
  Value written = isAlone ? writeTensor(t, {copy->front(), known}, t.asIndices(loops),
                                        /*isParallel=*/false, inRegister)
                          : writeTensor(t, {copy->front(), known}, t.asIndices(loops),
                                        /*isParallel=*/true, inMemory);
  return written ? MaybeValues(Values{{written, std::move(known)}}) : MaybeValues(std::nullopt);
}

/// The windows of a reduction, like the operands of XlaReduceWindow.
struct Windows {
  Places sizes, strides, steps, low, high;
};

/// Returns a cumulative operation if each window covers all elements up to a position, or from a
/// position on.
std::optional<Cumulative> cumulativeForm(const Windows &w, ArrayRef<int64_t> shape) {
  std::optional<Cumulative> found;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (w.strides[i] != 1 || w.steps[i] != 1)
      return std::nullopt;
    if (w.sizes[i] == 1 && !w.low[i] && !w.high[i])
      continue;
    bool isForward = w.low[i] == size - 1 && w.high[i] == 0,
         isReverse = w.high[i] == size - 1 && w.low[i] == 0;
    if (found || w.sizes[i] != size || (!isForward && !isReverse))
      return std::nullopt;
    found = Cumulative{static_cast<int64_t>(i), isReverse};
  }
  return found;
}

MaybeValues reduceWindow(Translator &t, tfg::Node node, Values inputs) {
  constexpr int64_t maxPositions = 64;
  std::optional<Places> shape = shapeOf(inputs[0]), numbers[5];
  for (size_t i = 0; i < 5; ++i)
    numbers[i] = t.integers(inputs[i + 2], i == 4 ? 2 : 1);
  if (!shape || !isScalar(inputs[1]) ||
      !llvm::all_of(numbers, [](const auto &list) { return list.has_value(); }) ||
      numbers[4]->size() != 2 * shape->size() ||
      llvm::any_of(*numbers[2], [](int64_t holes) { return holes != 1; }))
    return std::nullopt;
  Windows w{*numbers[0], *numbers[1], *numbers[3], {}, {}};
  for (auto [i, padding] : llvm::enumerate(*numbers[4]))
    (i % 2 ? w.high : w.low).push_back(padding);
  Places result;
  for (auto [i, size] : llvm::enumerate(*shape)) {
    if (w.sizes.size() != shape->size() || w.strides.size() != shape->size() ||
        w.steps.size() != shape->size() || w.sizes[i] < 1 || w.strides[i] < 1 || w.steps[i] < 1)
      return std::nullopt; // invalid: the kernel reports it
    int64_t places = size + w.low[i] + w.high[i] - (w.sizes[i] - 1) * w.steps[i];
    result.push_back(places > 0 ? (places - 1) / w.strides[i] + 1 : 0);
  }
  Value start = inputs[1].value;
  KnownValue known = t.outcome(node, inputs);
  Combine combine = [&](Value sum, Value element) -> std::optional<Value> {
    std::optional<Scalars> made = inlineScalars(t, node, "computation", {sum, element});
    return made ? std::optional(made->front()) : std::nullopt;
  };
  if (std::optional<Cumulative> form = cumulativeForm(w, *shape)) {
    auto next = [&](ArrayRef<Value> sum, Value element) {
      std::optional<Value> made = combine(sum[0], element);
      return made ? std::optional(Scalars{*made}) : std::nullopt;
    };
    auto first = [](ArrayRef<Value> sum) { return sum[0]; };
    return emitCumulative(t, inputs[0], *form, {{start}, next, first, /*isResult=*/true},
                          std::move(known));
  }
  int64_t numPlaces = computeProduct(w.sizes);
  if (numPlaces > maxPositions)
    return std::nullopt;
  // Each position of a window is emitted separately: loops are split where it leaves the tensor.
  auto elementsAt = [&](ArrayRef<Value> at) -> std::optional<Scalars> {
    Value sum = start;
    Places strides = computeStrides(w.sizes);
    for (int64_t i = 0; i < numPlaces; ++i) {
      SmallVector<Value> place;
      Value isInside = arith::ConstantOp::create(t.b, t.loc, t.b.getBoolAttr(true));
      for (auto [d, within] : llvm::enumerate(delinearize(i, strides))) {
        Value index = t.b.createOrFold<arith::MulIOp>(t.loc, at[d], t.index(w.strides[d]));
        index =
            t.b.createOrFold<arith::AddIOp>(t.loc, index, t.index(within * w.steps[d] - w.low[d]));
        Value isHere = t.b.createOrFold<arith::CmpIOp>(t.loc, arith::CmpIPredicate::ult, index,
                                                       t.index((*shape)[d]));
        if (w.low[d] || w.high[d])
          isInside = t.b.createOrFold<arith::AndIOp>(t.loc, isInside, isHere);
        place.push_back(index);
      }
      auto branch = scf::IfOp::create(t.b, t.loc, sum.getType(), isInside, true);
      OpBuilder::InsertionGuard guard(t.b);
      t.b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(t.b, t.loc, sum);
      t.b.setInsertionPointToStart(branch.thenBlock());
      std::optional<Value> next = combine(sum, t.elementAt(t.b, t.loc, inputs[0], place));
      if (!next)
        return std::nullopt;
      scf::YieldOp::create(t.b, t.loc, *next);
      sum = branch.getResult(0);
    }
    return Scalars{sum};
  };
  std::optional<SmallVector<Value>> made = generateAll(t, result, start.getType(), elementsAt);
  return made ? MaybeValues(Values{{made->front(), std::move(known)}}) : MaybeValues(std::nullopt);
}

bool isSet(tfg::Node node, StringRef name) {
  auto attr = node.attr<BoolAttr>(name);
  return attr && attr.getValue();
}

template <typename FloatOp, typename IntOp, int64_t neutral>
MaybeValues cumulativeReal(Translator &t, const TracedValue &from, const Cumulative &how,
                           const KnownValue &known) {
  Type element = elementOf(from.value.getType());
  bool isFloat = isa<FloatType>(element), isCompensated = element.isF64() && neutral == 0;
  Type wide = isFloat ? Type(t.b.getF64Type()) : element;
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(t.b, t.loc,
                                     isFloat ? TypedAttr(t.b.getFloatAttr(wide, double(value)))
                                             : TypedAttr(t.b.getIntegerAttr(wide, value)));
  };
  // Rounds as the kernel does: once for narrow floats, and with compensation for f64.
  auto next = [&](ArrayRef<Value> state, Value own) -> std::optional<Scalars> {
    if (!isFloat)
      return Scalars{IntOp::create(t.b, t.loc, state[0], own)};
    if (isCompensated)
      return compensatedSum(t.b, t.loc, {state[0], state[1]}, own);
    if (element != wide)
      own = arith::ExtFOp::create(t.b, t.loc, wide, own);
    return Scalars{FloatOp::create(t.b, t.loc, state[0], own)};
  };
  auto value = [&](ArrayRef<Value> state) -> Value {
    if (isCompensated)
      return roundedSum(t.b, t.loc, {state[0], state[1]});
    return element == wide ? state[0]
                           : arith::TruncFOp::create(t.b, t.loc, element, state[0]).getResult();
  };
  Scalars start{constant(neutral)};
  if (isCompensated)
    start.push_back(constant(0));
  return emitCumulative(t, from, how, {start, next, value, /*isResult=*/!isFloat}, known);
}

/// The sums of each part.
MaybeValues cumulativeComplexSum(Translator &t, const TracedValue &from, const Cumulative &how,
                                 const KnownValue &known) {
  Type element = elementOf(from.value.getType());
  Values sums;
  for (bool isReal : {true, false}) {
    auto take = [&](OpBuilder &b, Location loc, ValueRange in) {
      Parts parts = partsOf(b, loc, in[0]);
      return isReal ? parts.first : parts.second;
    };
    TracedValue part = *t.map(from, cast<ComplexType>(element).getElementType(),
                              KnownValue(from.known.shape), take);
    MaybeValues made = cumulativeReal<arith::AddFOp, arith::AddIOp, 0>(t, part, how, known);
    if (!made || !*made)
      return made;
    sums.push_back((*made)->front());
  }
  return Values{*t.map(sums, element, known, [](OpBuilder &b, Location loc, ValueRange in) {
    return complexOf(b, loc, {in[0], in[1]});
  })};
}

MaybeValues cumulativeComplexProduct(Translator &t, const TracedValue &from, const Cumulative &how,
                                     const KnownValue &known) {
  Type part = cast<ComplexType>(elementOf(from.value.getType())).getElementType();
  Value one = arith::ConstantOp::create(t.b, t.loc, t.b.getFloatAttr(part, 1));
  auto next = [&](ArrayRef<Value> state, Value own) -> std::optional<Scalars> {
    auto [real, imaginary] =
        complexProduct(t.b, t.loc, {state[0], state[1]}, partsOf(t.b, t.loc, own));
    return Scalars{real, imaginary};
  };
  auto value = [&](ArrayRef<Value> state) { return complexOf(t.b, t.loc, {state[0], state[1]}); };
  return emitCumulative(t, from, how, {{one, zeroOf(t.b, t.loc, part)}, next, value}, known);
}

template <typename FloatOp, typename IntOp, int64_t neutral>
MaybeValues cumulative(Translator &t, tfg::Node node, Values inputs) {
  std::optional<Places> shape = shapeOf(inputs[0]), axes = t.integers(inputs[1]);
  std::optional<int64_t> axis =
      axisOf(axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt,
             shape ? std::ssize(*shape) : 0);
  Type element = elementOf(inputs[0].value.getType());
  if (!shape || !axis || element.isInteger(1) || element.isUnsignedInteger())
    return std::nullopt;
  Cumulative how{*axis, isSet(node, "reverse"), isSet(node, "exclusive")};
  KnownValue known = t.outcome(node, inputs);
  auto emit = !isa<ComplexType>(element) ? cumulativeReal<FloatOp, IntOp, neutral>
              : neutral == 0             ? cumulativeComplexSum
                                         : cumulativeComplexProduct;
  return emit(t, inputs[0], how, known);
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"XlaReduceWindow", reduceWindow},
    {"Cumsum", cumulative<arith::AddFOp, arith::AddIOp, 0>},
    {"Cumprod", cumulative<arith::MulFOp, arith::MulIOp, 1>},
};

} // namespace

LoweringTable foldLowerings() { return table; }

} // namespace treadle::codegen
