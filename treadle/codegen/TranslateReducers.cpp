// Translates reductions by functions.
#include "treadle/analysis/shapes/TypeShapes.h"
#include "treadle/codegen/ReductionStarts.h"
#include "treadle/codegen/Reductions.h"
#include "treadle/codegen/ScalarBody.h"
#include "treadle/codegen/Scalars.h"
#include "treadle/rewriting/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Applies the function of a node to scalars.
Expected<SmallVector<Value>> applied(Translator &t, tfg::Node node, StringRef function,
                                     ValueRange scalars) {
  Values arguments;
  for (Value scalar : scalars)
    arguments.push_back({scalar, KnownValue(Shape::scalar())});
  Values made = TREADLE_TRY(t.call(node, node.attr(function), arguments));
  SmallVector<Value> results;
  for (const TracedValue &result : made)
    results.push_back(result.value);
  if (TypeRange(results) != TypeRange(scalars.take_back(results.size())))
    return Unexpected(Translator::unsupported(node, "its function returns different dtypes"));
  return results;
}

/// Whether all ops of a block may be inside loops over elements: none of them can fail.
bool areAllowedPerElement(Block &block) {
  return llvm::all_of(block, [](Operation &op) {
    return isa<arith::ArithDialect, math::MathDialect, linalg::LinalgDialect>(op.getDialect()) ||
           isa<UnrealizedConversionCastOp>(op);
  });
}

/// Returns which of `rank` dimensions an attribute lists.
std::optional<SmallVector<bool>> listedIn(ArrayAttr list, int64_t rank) {
  SmallVector<bool> marked(rank);
  for (Attribute attr : list) {
    int64_t dim = cast<IntegerAttr>(attr).getInt();
    if (dim < 0 || dim >= rank)
      return std::nullopt;
    marked[dim] = true;
  }
  return marked;
}

bool isPlainInteger(Type type) { return type.isSignlessInteger() && !type.isInteger(1); }

/// Finds the smallest position, of those in a tensor, at which `values` has the element of `best`,
/// or NaN. Both loops, that for the extreme and this one, can be vectorized.
Value positionsOf(Translator &t, Value values, Value best, Value positions,
                  ArrayRef<bool> isReduced) {
  auto type = cast<RankedTensorType>(positions.getType());
  Type place = type.getElementType();
  const ReductionLoops loops(isReduced, t.b.getContext());
  Value none = arith::ConstantOp::create(
      t.b, t.loc,
      t.b.getIntegerAttr(place, APInt::getSignedMaxValue(place.getIntOrFloatBitWidth())));
  Value empty =
      tensor::EmptyOp::create(t.b, t.loc, cast<RankedTensorType>(best.getType()).getShape(), place);
  Value filled = linalg::FillOp::create(t.b, t.loc, none, empty).getResult(0);
  auto generic = linalg::GenericOp::create(
      t.b, t.loc, TypeRange(filled.getType()), {values, positions, best}, filled,
      {loops.before, loops.before, loops.after, loops.after}, loops.types,
      [&](OpBuilder &b, Location loc, ValueRange in) {
        Value isBest;
        if (isa<FloatType>(in[0].getType()))
          isBest = arith::OrIOp::create(
              b, loc, arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, in[0], in[2]),
              arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, in[0], in[0]));
        else
          isBest = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, in[0], in[2]);
        Value own = arith::SelectOp::create(b, loc, isBest, in[1], none);
        linalg::YieldOp::create(b, loc, arith::MinSIOp::create(b, loc, in[3], own).getResult());
      });
  return generic.getResult(0);
}

/// Reduces pairs of a value and its position to the position of an extreme, if that is what the
/// function does and only the position is used.
MaybeValues extremePositions(Translator &t, tfg::Node node, ArrayRef<Value> tensors,
                             ArrayRef<Value> starts, ArrayRef<bool> isReduced) {
  auto isConstant = [](Value start) { return matchPattern(start, m_Constant()); };
  if (tensors.size() != 2 || !node->getResult(0).use_empty() || !llvm::all_of(starts, isConstant))
    return std::nullopt;
  std::optional<tfg::ExtremePosition> how =
      tfg::extremePositionOf(scalarFunction(t, node, "reducer"), t.find);
  Type element = elementOf(tensors[0].getType()), place = elementOf(tensors[1].getType());
  bool isOfFloats = element.isF32() || element.isF64();
  if (!how || !(isOfFloats ? how->prefersNan : isPlainInteger(element)) || !isPlainInteger(place))
    return std::nullopt;
  const Reduction &reduction = *findReduction(how->isGreatest ? "max" : "min", false);
  auto merge = [&](OpBuilder &b, Location loc, ValueRange elements, ValueRange sums) {
    return SmallVector{reduction.merge(b, loc, sums[0], elements[0])};
  };
  Value best = reduced(t, tensors[0], isReduced, starts[0], merge).front();
  TracedValue found = t.unboxed(positionsOf(t, tensors[0], best, tensors[1], isReduced), {});
  KnownValue known(tfg::shapeOf(best.getType()));
  TracedValue extreme = t.unboxed(best, known);
  // The initial pair competes with the others.
  auto compete = [&](OpBuilder &b, Location loc, ValueRange in) -> Value {
    Value isStart =
        isOfFloats
            ? arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, in[0], starts[0]).getResult()
            : arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, in[0], starts[0]).getResult();
    Value first = arith::MinSIOp::create(b, loc, in[1], starts[1]);
    return arith::SelectOp::create(b, loc, isStart, first, in[1]);
  };
  TracedValue position = *t.map({extreme, found}, place, known, compete);
  return Values{std::move(extreme), std::move(position)};
}

/// Reduces tensors of one known shape with a function that combines an element of each.
MaybeValues reduceByFunction(Translator &t, tfg::Node node, Values inputs) {
  size_t count = node.numResults();
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  auto dims = node.attr<ArrayAttr>("dimensions_to_reduce");
  std::optional<SmallVector<bool>> isReduced =
      type && dims ? listedIn(dims, type.getRank()) : std::nullopt;
  if (!isReduced || inputs.size() != 2 * count || !llvm::is_contained(*isReduced, true))
    return std::nullopt;
  SmallVector<Value> tensors, starts;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    (i < count ? tensors : starts).push_back(input.value);
    auto own = dyn_cast<RankedTensorType>(input.value.getType());
    if (!isNative(elementOf(input.value.getType())) ||
        (i < count ? !own || own.getShape() != type.getShape() || !own.hasStaticShape()
                   : isTensor(input.value.getType())))
      return std::nullopt;
  }
  if (MaybeValues made = extremePositions(t, node, tensors, starts, *isReduced); !made || *made)
    return made;
  std::optional<ReductionStarts> start =
      ReductionStarts::make(t.b, t.loc, starts, type.getShape(), *isReduced);
  if (!start)
    return std::nullopt;
  MaybeValues failure = std::nullopt;
  auto merge = [&](OpBuilder &b, Location loc, ValueRange elements, ValueRange sums) {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
    SmallVector<Value> scalars = start->before(t.b, loc, sums);
    llvm::append_range(scalars, elements);
    Expected<SmallVector<Value>> merged = applied(t, node, "reducer", scalars);
    if (merged)
      return *merged;
    failure = Unexpected(std::move(merged.error()));
    return SmallVector<Value>(sums);
  };
  SmallVector<Value> made = reduced(t, tensors, *isReduced, start->ofDestinations(), merge);
  if (!failure)
    return failure;
  if (!areAllowedPerElement(made.front().getDefiningOp()->getRegion(0).front()))
    return Unexpected(Translator::unsupported(node, "its function may fail"));
  Values results;
  for (Value value : made)
    results.push_back(t.unboxed(value, KnownValue(tfg::shapeOf(value.getType()))));
  return results;
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"XlaVariadicReduceV2", reduceByFunction},
    {"XlaReduce", reduceByFunction},
    {"XlaVariadicReduce", reduceByFunction},
};

} // namespace

LoweringTable reducerLowerings() { return table; }

} // namespace treadle::codegen
