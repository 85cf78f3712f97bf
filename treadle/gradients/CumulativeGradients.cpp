// Gradients of products along axes, and of cumulative sums and products.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Value cumulative(Emitter &e, StringRef op, Value x, Value axis, bool isExclusive, bool isReverse) {
  return e.same(op, {x, axis},
                {e.attr("exclusive", isExclusive), e.attr("reverse", isReverse),
                 e.attr("Tidx", elementOf(axis))});
}

Value gathered(Emitter &e, Value vector, Value indices) {
  Type i32 = e.builder.getI32Type();
  return e
      .emit("GatherV2", {vector, indices, e.integer(0)}, elementOf(vector),
            {e.attr("Tparams", elementOf(vector)), e.attr("Tindices", elementOf(indices)),
             e.attr("Taxis", i32)})
      ->getResult(0);
}

Value product(Emitter &e, Value vector) {
  return e.same("Prod", {vector, e.integers(0)}, e.attr("Tidx", Type(e.builder.getI32Type())));
}

Value transposed(Emitter &e, Value x, Value permutation) {
  return e.same("Transpose", {x, permutation}, e.attr("Tperm", elementOf(permutation)));
}

/// Multiplies, for each element, the elements before it by those after it, which is correct with
/// zeros too.
Values productGradient(Emitter &e, const DifferentiatedNode &f) {
  Type i32 = e.builder.getI32Type();
  Value shape = e.shapeOf(f.x(0)), rank = e.rankOf(f.x(0));
  Value axes = e.reshape(e.same("FloorMod", {e.index(f.x(1)), rank}), e.integers(-1));
  Node others = e.emit("ListDiff", {e.range(rank), axes}, {i32, i32},
                       {e.attr("T", i32), e.attr("out_idx", i32)});
  Value order = e.concat({axes, others->getResult(0)}, e.integer(0));
  Value inFront = transposed(e, f.x(0), order);
  Value matrixShape = e.same(
      "Pack",
      {product(e, gathered(e, shape, axes)), product(e, gathered(e, shape, others->getResult(0)))},
      {e.integerAttr("N", 2), e.integerAttr("axis", 0)});
  Value matrix = e.reshape(inFront, matrixShape), first = e.integer(0);
  if (isa<ComplexType>(f.element()))
    matrix = e.same("Conj", matrix);
  Value rest = e.same("Mul", {cumulative(e, "Cumprod", matrix, first, true, false),
                              cumulative(e, "Cumprod", matrix, first, true, true)});
  Value back =
      transposed(e, e.reshape(rest, gathered(e, shape, order)), e.same("InvertPermutation", order));
  Value spread = e.broadcastTo(e.reshape(f.dy(), keptShape(e, f, shape)), shape);
  return {e.same("Mul", {spread, back})};
}

Values euclideanNormGradient(Emitter &e, const DifferentiatedNode &f) {
  Value kept = keptShape(e, f, e.shapeOf(f.x(0)));
  Value each = e.same("DivNoNan", {e.reshape(f.dy(), kept), e.reshape(f.y(0), kept)});
  return {e.same("Mul", {f.x(0), each})};
}

Values cumsumGradient(Emitter &e, const DifferentiatedNode &f) {
  return {cumulative(e, "Cumsum", f.dy(), f.x(1), f.flag("exclusive"), !f.flag("reverse"))};
}

Values cumprodGradient(Emitter &e, const DifferentiatedNode &f) {
  bool isExclusive = f.flag("exclusive"), isReverse = f.flag("reverse");
  Value products = cumulative(e, "Cumprod", f.x(0), f.x(1), isExclusive, isReverse);
  Value sums =
      cumulative(e, "Cumsum", e.same("Mul", {products, f.dy()}), f.x(1), isExclusive, !isReverse);
  return {e.same("DivNoNan", {sums, f.x(0)})};
}

} // namespace

void addCumulativeGradients(GradientTable &table) {
  table["Prod"] = productGradient;
  table["EuclideanNorm"] = euclideanNormGradient;
  table["Cumsum"] = cumsumGradient;
  table["Cumprod"] = cumprodGradient;
}

} // namespace treadle::tfg
