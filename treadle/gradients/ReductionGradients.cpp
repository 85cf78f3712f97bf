// Gradients of reductions.
#include "treadle/gradients/GradientTable.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

Value spread(Emitter &e, const DifferentiatedNode &f, Value gradient) {
  Value shape = e.shapeOf(f.x(0));
  return e.broadcastTo(e.reshape(gradient, keptShape(e, f, shape)), shape);
}

Values sumGradient(Emitter &e, const DifferentiatedNode &f) { return {spread(e, f, f.dy())}; }

Values meanGradient(Emitter &e, const DifferentiatedNode &f) {
  auto size = [&](Value x) {
    Type i32 = e.builder.getI32Type();
    return Term{&e, e.to(i32, "Size", x, e.attr("out_type", i32))};
  };
  // The mean of no elements has nothing to distribute.
  Value each = size(f.x(0))("FloorDiv", size(f.dy())("Maximum", {&e, e.integer(1)}));
  StringRef div = isa<IntegerType>(f.element()) ? "Div" : "RealDiv";
  return {spread(e, f, e.same(div, {f.dy(), e.cast(each, f.element())}))};
}

/// Elements equal to the extreme value share its gradient.
Values extremeGradient(Emitter &e, const DifferentiatedNode &f) {
  Value kept = keptShape(e, f, e.shapeOf(f.x(0)));
  Value isExtreme = e.to(e.builder.getI1Type(), "Equal", {f.x(0), e.reshape(f.y(0), kept)});
  Term mask{&e, e.cast(isExtreme, f.element())};
  Term count{&e, e.sum(mask, f.x(1), /*keepDims=*/true)}, dy{&e, e.reshape(f.dy(), kept)};
  return {mask * dy("Div", count)};
}

} // namespace

Value keptShape(Emitter &e, const DifferentiatedNode &f, Value shape) {
  Type i32 = e.builder.getI32Type();
  Value rank = e.rankOf(f.x(0));
  Term axes{&e, e.index(f.x(1))};
  // Negative axes count from the end.
  Value positive = (axes + Term{&e, rank})("FloorMod", {&e, rank});
  Value ones = e.emit("Fill", {e.shapeOf(axes), e.integer(1)}, i32,
                      {e.attr("T", i32), e.attr("index_type", i32)})
                   ->getResult(0);
  return e
      .emit("DynamicStitch", {e.range(rank), positive, shape, ones}, i32,
            {e.attr("T", i32), e.integerAttr("N", 2)})
      ->getResult(0);
}

void addReductionGradients(GradientTable &table) {
  table["Sum"] = sumGradient;
  table["Mean"] = meanGradient;
  table["Max"] = extremeGradient;
  table["Min"] = extremeGradient;
}

} // namespace treadle::tfg
