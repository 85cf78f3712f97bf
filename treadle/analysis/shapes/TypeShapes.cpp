#include "treadle/analysis/shapes/TypeShapes.h"

using namespace mlir;

namespace treadle::tfg {

// Both represent unknown dimensions by the same number.
static_assert(Shape::unknown == ShapedType::kDynamic);

Shape shapeOf(Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked)
    return {};
  return Shape(std::span(ranked.getShape().data(), ranked.getShape().size()));
}

TensorType tensorOf(const Shape &shape, Type elementType) {
  if (!shape.hasRank())
    return UnrankedTensorType::get(elementType);
  return RankedTensorType::get(ArrayRef(shape.all().data(), shape.all().size()), elementType);
}

} // namespace treadle::tfg
