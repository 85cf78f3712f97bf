// Translates reductions over axes, including argmax and argmin.
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/ComplexForms.h"
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/FastMath.h"
#include "treadle/codegen/Reductions.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"
#include "treadle/ops/OpTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;

namespace treadle::codegen {
namespace {

bool isFloat(Type type) { return isa<FloatType>(type); }
bool isBool(Type type) { return type.isInteger(1); }
/// Arrays of bools are combined as bytes, which can be vectorized.
bool isTruth(Type type) { return isBool(type) || type.isInteger(8); }
Value byteOf(OpBuilder &b, Location loc, Value truth) {
  return arith::ExtUIOp::create(b, loc, b.getI8Type(), truth);
}
Value truthOf(OpBuilder &b, Location loc, Value byte) {
  return arith::TruncIOp::create(b, loc, b.getI1Type(), byte);
}
bool isNumber(Type type) {
  return isNative(type) && !isBool(type) && !type.isUnsignedInteger() && !isa<ComplexType>(type);
}

/// Sums may be reordered: several partial sums lose less precision than sequential addition.
template <typename FloatOp, typename IntOp>
Value inAnyOrder(OpBuilder &b, Location loc, Value sum, Value element) {
  if (isFloat(sum.getType()))
    return FloatOp::create(b, loc, sum, element, arith::FastMathFlags::reassoc);
  return IntOp::create(b, loc, sum, element);
}

template <typename Op> Value merge(OpBuilder &b, Location loc, Value sum, Value element) {
  return Op::create(b, loc, sum, element);
}

/// NaN is propagated. The order of the two zeros is unspecified, as in the kernels.
template <typename FloatOp, typename IntOp>
Value extreme(OpBuilder &b, Location loc, Value sum, Value element) {
  if (isFloat(sum.getType()))
    return FloatOp::create(b, loc, sum, element, arith::FastMathFlags::nsz);
  return IntOp::create(b, loc, sum, element);
}

template <int64_t value> TypedAttr number(OpBuilder &b, Type element) {
  if (isFloat(element))
    return b.getFloatAttr(element, static_cast<double>(value));
  return b.getIntegerAttr(element, value);
}

/// A value beyond all numbers: above with `sign` 1, below with -1.
template <int sign> TypedAttr beyondAll(OpBuilder &b, Type element) {
  if (isFloat(element))
    return b.getFloatAttr(element, sign * std::numeric_limits<double>::infinity());
  unsigned width = element.getIntOrFloatBitWidth();
  return b.getIntegerAttr(element, sign > 0 ? APInt::getSignedMaxValue(width)
                                            : APInt::getSignedMinValue(width));
}

TypedAttr allBits(OpBuilder &b, Type element) {
  return b.getIntegerAttr(element, APInt::getAllOnes(element.getIntOrFloatBitWidth()));
}

} // namespace

const Reduction *findReduction(StringRef reduction, bool isUnsigned) {
  static constexpr std::pair<StringRef, Reduction> table[] = {
      {"sum", {isNumber, inAnyOrder<arith::AddFOp, arith::AddIOp>, number<0>, /*isSum=*/true}},
      {"mean",
       {isFloat, inAnyOrder<arith::AddFOp, arith::AddIOp>, number<0>, true, /*isMean=*/true}},
      {"product", {isNumber, inAnyOrder<arith::MulFOp, arith::MulIOp>, number<1>}},
      {"max", {isNumber, extreme<arith::MaximumFOp, arith::MaxSIOp>, beyondAll<-1>}},
      {"min", {isNumber, extreme<arith::MinimumFOp, arith::MinSIOp>, beyondAll<1>}},
      {"all", {isTruth, merge<arith::AndIOp>, number<1>}},
      {"any", {isTruth, merge<arith::OrIOp>, number<0>}},
  };
  static constexpr std::pair<StringRef, Reduction> unsignedTable[] = {
      {"max", {isNumber, merge<arith::MaxUIOp>, number<0>}},
      {"min", {isNumber, merge<arith::MinUIOp>, allBits}},
  };
  auto find = [&](ArrayRef<std::pair<StringRef, Reduction>> rows) {
    const auto *it = llvm::find_if(rows, [&](const auto &row) { return row.first == reduction; });
    return it == rows.end() ? nullptr : &it->second;
  };
  const Reduction *special = isUnsigned ? find(unsignedTable) : nullptr;
  return special ? special : find(table);
}

namespace {

/// Returns which of `rank` dimensions constant axes select; nullopt if they aren't constant or out
/// of range.
std::optional<SmallVector<bool>> markedBy(Translator &t, const TracedValue &axes, int64_t rank) {
  std::optional<SmallVector<Value>> values = t.indices(axes);
  if (!values)
    return std::nullopt;
  SmallVector<bool> marked(rank);
  for (Value value : *values) {
    std::optional<int64_t> axis = getConstantIntValue(value);
    if (!axis)
      return std::nullopt;
    int64_t at = *axis < 0 ? *axis + rank : *axis;
    if (at < 0 || at >= rank || marked[at])
      return std::nullopt;
    marked[at] = true;
  }
  return marked;
}

bool keepsDims(tfg::Node node) {
  auto keeps = node.attr<BoolAttr>("keep_dims");
  return keeps && keeps.getValue();
}

/// Reduces a small tensor, one element after the other.
MaybeValues reduceSmall(Translator &t, tfg::Node node, const Values &inputs,
                        const Reduction &reduction) {
  std::optional<SmallVector<Value>> elements = t.elementsOf(inputs[0]);
  auto type = cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<SmallVector<bool>> isReduced = markedBy(t, inputs[1], type.getRank());
  if (!elements || !isReduced || !llvm::is_contained(*isReduced, true))
    return std::nullopt;
  SmallVector<int64_t> kept, shape(type.getShape());
  for (auto [size, gone] : llvm::zip(shape, *isReduced)) {
    size = gone ? 1 : size;
    if (!gone || keepsDims(node))
      kept.push_back(size);
  }
  SmallVector<int64_t> strides = computeStrides(shape), from = computeStrides(type.getShape());
  for (auto [stride, gone] : llvm::zip(strides, *isReduced))
    stride = gone ? 0 : stride;
  FastMathScope scope(t.b, t.options.fastMath);
  Value start = arith::ConstantOp::create(t.b, t.loc, reduction.start(t.b, type.getElementType()));
  SmallVector<Value> results(computeProduct(shape), start);
  for (auto [i, element] : llvm::enumerate(*elements)) {
    Value &result = results[linearize(delinearize(static_cast<int64_t>(i), from), strides)];
    result = reduction.merge(t.b, t.loc, result, element);
  }
  if (reduction.isMean) {
    auto count = static_cast<double>(elements->size()) / static_cast<double>(results.size());
    Value divisor =
        arith::ConstantOp::create(t.b, t.loc, t.b.getFloatAttr(type.getElementType(), count));
    for (Value &result : results)
      result = arith::DivFOp::create(t.b, t.loc, result, divisor);
  }
  return Values{t.small(results, kept, type.getElementType(), t.outcome(node, inputs))};
}

} // namespace

ReductionLoops::ReductionLoops(ArrayRef<bool> isReduced, MLIRContext *context) {
  SmallVector<AffineExpr> kept;
  for (auto [i, gone] : llvm::enumerate(isReduced)) {
    types.push_back(gone ? utils::IteratorType::reduction : utils::IteratorType::parallel);
    if (!gone)
      kept.push_back(getAffineDimExpr(static_cast<unsigned>(i), context));
  }
  auto rank = static_cast<unsigned>(isReduced.size());
  before = AffineMap::getMultiDimIdentityMap(rank, context);
  after = AffineMap::get(rank, 0, kept, context);
}

SmallVector<Value> reduced(Translator &t, ArrayRef<Value> from, ArrayRef<bool> isReduced,
                           ArrayRef<Value> starts, Merge merge) {
  auto type = cast<RankedTensorType>(from[0].getType());
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  for (auto [i, gone] : llvm::enumerate(isReduced)) {
    auto dim = static_cast<int64_t>(i);
    if (gone)
      continue;
    shape.push_back(type.getDimSize(dim));
    if (type.isDynamicDim(dim))
      dynamic.push_back(t.dim(from[0], dim));
  }
  const ReductionLoops loops(isReduced, t.b.getContext());
  SmallVector<AffineMap> maps(from.size(), loops.before);
  maps.append(from.size(), loops.after);
  SmallVector<Value> filled;
  for (Value start : starts) {
    Value empty = tensor::EmptyOp::create(t.b, t.loc, shape, start.getType(), dynamic);
    filled.push_back(linalg::FillOp::create(t.b, t.loc, start, empty).getResult(0));
  }
  auto generic = linalg::GenericOp::create(
      t.b, t.loc, ValueRange(filled).getTypes(), from, filled, maps, loops.types,
      [&](OpBuilder &inner, Location at, ValueRange in) {
        FastMathScope scope(inner, t.options.fastMath);
        linalg::YieldOp::create(
            inner, at, merge(inner, at, in.take_front(from.size()), in.drop_front(from.size())));
      });
  return generic.getResults();
}

namespace {

/// Reduces one tensor.
Value reduced(Translator &t, Value from, ArrayRef<bool> isReduced, const Reduction &reduction) {
  Value start =
      arith::ConstantOp::create(t.b, t.loc, reduction.start(t.b, elementOf(from.getType())));
  auto merge = [&](OpBuilder &b, Location loc, ValueRange elements, ValueRange sums) {
    return SmallVector{reduction.merge(b, loc, sums.front(), elements.front())};
  };
  return reduced(t, from, isReduced, start, merge).front();
}

} // namespace

bool checkBelow(Translator &t, const TracedValue &indices, ArrayRef<int64_t> sizes) {
  auto type = dyn_cast<RankedTensorType>(indices.value.getType());
  Type element = type ? type.getElementType() : Type();
  if (t.mustNotBail || !type || !type.hasStaticShape() || type.getRank() == 0 || sizes.empty() ||
      (sizes.size() > 1 && type.getShape().back() != std::ssize(sizes)) ||
      !(element.isSignlessInteger(32) || element.isSignlessInteger(64)) ||
      (element.isInteger(32) && llvm::any_of(sizes, [](int64_t size) {
         return size > std::numeric_limits<int32_t>::max();
       })))
    return false;
  // The comparison is unsigned, so that negative indices are too large.
  auto isInside = [&](OpBuilder &b, Location loc, Value index, int64_t size) -> Value {
    Value bound = arith::ConstantOp::create(b, loc, b.getIntegerAttr(element, size));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, bound);
  };
  if (std::optional<SmallVector<Value>> elements = t.elementsOf(indices)) {
    for (auto [i, index] : llvm::enumerate(*elements))
      t.check(isInside(t.b, t.loc, index, sizes[i % sizes.size()]));
    return true;
  }
  auto rank = static_cast<unsigned>(type.getRank());
  Value yes = arith::ConstantOp::create(t.b, t.loc, t.b.getI8IntegerAttr(1));
  Value empty = tensor::EmptyOp::create(t.b, t.loc, ArrayRef<int64_t>(), t.b.getI8Type());
  Value start = linalg::FillOp::create(t.b, t.loc, yes, empty).getResult(0);
  SmallVector<AffineMap> maps = {t.b.getMultiDimIdentityMap(rank),
                                 AffineMap::get(rank, 0, {}, t.b.getContext())};
  auto all = linalg::GenericOp::create(
      t.b, t.loc, TypeRange(start.getType()), indices.value, start, maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::reduction),
      [&](OpBuilder &b, Location loc, ValueRange in) {
        Value inside;
        Value component = linalg::IndexOp::create(b, loc, rank - 1);
        for (auto [i, size] : llvm::enumerate(sizes)) {
          Value here = isInside(b, loc, in[0], size);
          Value number = arith::ConstantIndexOp::create(b, loc, static_cast<int64_t>(i));
          Value isHere = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, component, number);
          inside =
              inside ? arith::SelectOp::create(b, loc, isHere, here, inside).getResult() : here;
        }
        Value byte = byteOf(b, loc, inside);
        linalg::YieldOp::create(b, loc, arith::AndIOp::create(b, loc, in[1], byte).getResult());
      });
  t.check(truthOf(t.b, t.loc, t.unboxed(all.getResult(0), {}).value));
  return true;
}

namespace {

/// Divides each element by a scalar.
Value dividedBy(Translator &t, Value value, Value divisor) {
  if (!isTensor(value.getType()))
    return arith::DivFOp::create(t.b, t.loc, value, divisor);
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<Value> dynamic;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      dynamic.push_back(t.dim(value, i));
  Value empty =
      tensor::EmptyOp::create(t.b, t.loc, type.getShape(), type.getElementType(), dynamic);
  AffineMap map = t.b.getMultiDimIdentityMap(static_cast<unsigned>(type.getRank()));
  auto generic = linalg::GenericOp::create(
      t.b, t.loc, TypeRange(type), value, empty, ArrayRef({map, map}),
      SmallVector<utils::IteratorType>(type.getRank(), utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location at, ValueRange in) {
        Value quotient = arith::DivFOp::create(inner, at, in[0], divisor);
        linalg::YieldOp::create(inner, at, quotient);
      });
  return generic.getResult(0);
}

MaybeValues reduceReal(Translator &t, tfg::Node node, const Values &inputs,
                       const Reduction &reduction) {
  Value from = inputs[0].value;
  auto type = cast<RankedTensorType>(from.getType());
  if (isSmall(type))
    if (MaybeValues small = reduceSmall(t, node, inputs, reduction); !small || *small)
      return small;
  std::optional<SmallVector<bool>> isReduced = markedBy(t, inputs[1], type.getRank());
  if (!isReduced)
    return std::nullopt;
  KnownValue known = t.outcome(node, inputs);
  if (!llvm::is_contained(*isReduced, true))
    return Values{{from, std::move(known)}};
  Value count = t.index(1);
  SmallVector<Value> sizes, keptSizes;
  for (auto [i, gone] : llvm::enumerate(*isReduced)) {
    Value size = t.dim(from, static_cast<int64_t>(i));
    if (gone)
      count = t.b.createOrFold<arith::MulIOp>(t.loc, count, size);
    else
      keptSizes.push_back(size);
    sizes.push_back(gone ? t.index(1) : size);
  }
  Value result = reduced(t, from, *isReduced, reduction);
  for (auto [i, size] : llvm::enumerate(keptSizes))
    t.dims[{result, i}] = size;
  if (keptSizes.empty())
    result = t.unboxed(result, {}).value;
  if (reduction.isMean) {
    Value whole = arith::IndexCastOp::create(t.b, t.loc, t.b.getI64Type(), count);
    result = dividedBy(
        t, result, arith::SIToFPOp::create(t.b, t.loc, type.getElementType(), whole).getResult());
    for (auto [i, size] : llvm::enumerate(keptSizes))
      t.dims[{result, i}] = size;
  }
  if (keepsDims(node))
    return Values{t.reshape({result, {}}, sizes, std::move(known))};
  if (isTensor(result.getType()))
    known.shape = meet(known.shape, tfg::shapeOf(result.getType()));
  return Values{{result, std::move(known)}};
}

/// Multiplies complex numbers; the loops work on their parts.
MaybeValues complexProducts(Translator &t, tfg::Node node, const Values &inputs) {
  auto type = cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<SmallVector<bool>> isReduced = markedBy(t, inputs[1], type.getRank());
  if (!type.hasStaticShape() || !isReduced || !llvm::is_contained(*isReduced, true))
    return std::nullopt;
  Type element = type.getElementType(), part = cast<ComplexType>(element).getElementType();
  SmallVector<Value> parts;
  for (bool isReal : {true, false})
    parts.push_back(t.map(inputs[0], part, {}, [&](OpBuilder &b, Location loc, ValueRange in) {
                       Parts own = partsOf(b, loc, in[0]);
                       return isReal ? own.first : own.second;
                     })->value);
  auto merge = [](OpBuilder &b, Location loc, ValueRange elements, ValueRange products) {
    Parts made = complexProduct(b, loc, {products[0], products[1]}, {elements[0], elements[1]});
    return SmallVector{made.first, made.second};
  };
  Value one = arith::ConstantOp::create(t.b, t.loc, t.b.getFloatAttr(part, 1));
  Values products;
  for (Value product : reduced(t, parts, *isReduced, {one, zeroOf(t.b, t.loc, part)}, merge))
    products.push_back(t.unboxed(product, {}));
  KnownValue known = t.outcome(node, inputs);
  SmallVector<int64_t> kept;
  for (auto [size, gone] : llvm::zip(type.getShape(), *isReduced))
    if (!gone || keepsDims(node))
      kept.push_back(gone ? 1 : size);
  TracedValue made = *t.map(
      products, element, keepsDims(node) ? KnownValue() : known,
      [](OpBuilder &b, Location loc, ValueRange in) { return complexOf(b, loc, {in[0], in[1]}); });
  return Values{keepsDims(node) ? t.reshape(made, t.asIndices(kept), std::move(known)) : made};
}

/// Halves are summed in f32, unsigned integers as signless ones, complex numbers by part, and
/// arrays of bools are combined as bytes.
MaybeValues reduce(Translator &t, tfg::Node node, Values inputs) {
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  if (!type || type.getRank() == 0 || !isNative(type.getElementType()))
    return std::nullopt;
  Type element = type.getElementType(), part = computedIn(element);
  auto complex = dyn_cast<ComplexType>(element);
  if (complex)
    part = complex.getElementType();
  if (isHalf(element))
    part = t.b.getF32Type();
  if (isBool(element) && !isSmall(type))
    part = t.b.getI8Type();
  const Reduction *reduction =
      findReduction(lookupOp(node.opType())->reduction(), element.isUnsignedInteger());
  if (!reduction || !reduction->accepts(part))
    return std::nullopt;
  if (complex && !reduction->isSum)
    return lookupOp(node.opType())->reduction() == "product" ? complexProducts(t, node, inputs)
                                                             : std::nullopt;
  if (part == element)
    return reduceReal(t, node, inputs, *reduction);
  using Take = Value (*)(OpBuilder &, Location, Value);
  SmallVector<Take> takes;
  if (complex)
    takes = {[](OpBuilder &b, Location loc, Value x) { return partsOf(b, loc, x).first; },
             [](OpBuilder &b, Location loc, Value x) { return partsOf(b, loc, x).second; }};
  else if (isBool(element))
    takes = {byteOf};
  else
    takes = {[](OpBuilder &b, Location loc, Value x) {
      return widened(b, loc, reinterpreted(b, loc, x, computedIn(x.getType())));
    }};
  Values reducedParts;
  for (Take take : takes) {
    Values taken = inputs;
    std::optional<TracedValue> parts =
        t.map(inputs[0], part, KnownValue(inputs[0].known.shape),
              [&](OpBuilder &b, Location loc, ValueRange in) { return take(b, loc, in[0]); });
    taken[0] = std::move(*parts);
    MaybeValues made = reduceReal(t, node, taken, *reduction);
    if (!made || !*made)
      return made;
    reducedParts.push_back((*made)->front());
  }
  KnownValue known = reducedParts[0].known;
  std::optional<TracedValue> result = t.map(
      reducedParts, element, std::move(known), [&](OpBuilder &b, Location loc, ValueRange in) {
        if (complex)
          return complexOf(b, loc, {in[0], in[1]});
        if (isBool(element))
          return truthOf(b, loc, in[0]);
        return reinterpreted(b, loc, narrowed(b, loc, in[0], element), element);
      });
  return result ? MaybeValues(Values{std::move(*result)}) : std::nullopt;
}

/// Returns the position of the first element that no other exceeds; NaN exceeds nothing.
MaybeValues argument(Translator &t, tfg::Node node, Values inputs) {
  Value from = inputs[0].value;
  auto type = dyn_cast<RankedTensorType>(from.getType());
  Type result = t.elementType(node->getResult(0));
  if (!type || type.getRank() == 0 || !isNumber(type.getElementType()) ||
      !(result.isInteger(32) || result.isInteger(64)))
    return std::nullopt;
  std::optional<SmallVector<bool>> isAxis = markedBy(t, inputs[1], type.getRank());
  if (!isAxis || llvm::count(*isAxis, true) != 1)
    return std::nullopt;
  int64_t axis = llvm::find(*isAxis, true) - isAxis->begin();
  bool isGreatest = node.opType() == "ArgMax";
  Value length = t.dim(from, axis), zero = t.index(0), one = t.index(1);
  t.check(arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::sgt, length, zero));
  Type element = type.getElementType();
  TypedAttr worst = isGreatest ? beyondAll<-1>(t.b, element) : beyondAll<1>(t.b, element);
  // Starts like the kernels: if no element exceeds the lowest finite number, the result is the
  // first position.
  if (auto type = dyn_cast<FloatType>(element))
    worst = t.b.getFloatAttr(type, APFloat::getLargest(type.getFloatSemantics(), isGreatest));
  Value start = arith::ConstantOp::create(t.b, t.loc, worst);
  auto beats = [&](OpBuilder &b, Location loc, Value x, Value best) -> Value {
    if (isFloat(element))
      return arith::CmpFOp::create(
          b, loc, isGreatest ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT, x, best);
    return arith::CmpIOp::create(
        b, loc, isGreatest ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt, x, best);
  };
  auto elementAt = [&](OpBuilder &b, Location loc, ValueRange at) -> Value {
    SmallVector<Value> place(at);
    place.insert(place.begin() + axis, Value());
    auto search = scf::ForOp::create(
        b, loc, zero, length, one, ValueRange{start, zero},
        [&](OpBuilder &inner, Location innerLoc, Value index, ValueRange best) {
          place[axis] = index;
          Value x = t.elementAt(inner, innerLoc, inputs[0], place);
          Value wins = beats(inner, innerLoc, x, best[0]);
          Value value = arith::SelectOp::create(inner, innerLoc, wins, x, best[0]);
          Value where = arith::SelectOp::create(inner, innerLoc, wins, index, best[1]);
          scf::YieldOp::create(inner, innerLoc, ValueRange{value, where});
        });
    return arith::IndexCastOp::create(b, loc, result, search.getResult(1));
  };
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      sizes.push_back(t.dim(from, i));
  KnownValue known = t.outcome(node, inputs);
  if (sizes.empty())
    return Values{{elementAt(t.b, t.loc, {}), std::move(known)}};
  return Values{t.generate(sizes, result, std::move(known), elementAt)};
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"Sum", reduce}, {"Mean", reduce}, {"Prod", reduce},     {"Max", reduce},      {"Min", reduce},
    {"All", reduce}, {"Any", reduce},  {"ArgMax", argument}, {"ArgMin", argument},
};

} // namespace

void Translator::checkNoZeros(const TracedValue &tensor) {
  Type stored = computedIn(elementOf(tensor.value.getType()));
  Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(stored, 0));
  auto isOther = [&](OpBuilder &inner, Location at, Value element) -> Value {
    return arith::CmpIOp::create(inner, at, arith::CmpIPredicate::ne,
                                 reinterpreted(inner, at, element, stored), zero);
  };
  if (Value scalar = scalarOf(tensor))
    return check(isOther(b, loc, scalar));
  if (std::optional<SmallVector<Value>> elements = elementsOf(tensor)) {
    for (Value element : *elements)
      check(isOther(b, loc, element));
    return;
  }
  auto type = dyn_cast<RankedTensorType>(tensor.value.getType());
  if (!type)
    return; // left to the kernel
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    sizes.push_back(dim(tensor.value, i));
  TracedValue others =
      generate(sizes, b.getI8Type(), {}, [&](OpBuilder &inner, Location at, ValueRange indices) {
        return byteOf(
            inner, at,
            isOther(inner, at, elementAt(inner, at, tensor, SmallVector<Value>(indices))));
      });
  Value all = reduced(*this, others.value, SmallVector<bool>(type.getRank(), true),
                      *findReduction("all", /*isUnsigned=*/false));
  check(truthOf(b, loc, unboxed(all, {}).value));
}

LoweringTable reductionLowerings() { return table; }

} // namespace treadle::codegen
