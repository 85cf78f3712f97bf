// Constant evaluation of small integer tensors that compute shapes, with unknown elements: `[batch,
// -1]` for an unknown batch.
#include "treadle/shapes/IntegerValues.h"

#include <unordered_map>

namespace treadle {

template <typename T> static Shape::Dims elementsOf(const Tensor &tensor) {
  std::span<const T> values = tensor.values<T>();
  return {values.begin(), values.end()};
}

KnownValue knownOf(const Tensor &tensor) {
  KnownValue out(Shape(tensor.dims()));
  if (isPlain(tensor.dtype()) && tensor.count() <= maxConstantElements)
    out.constant = tensor;
  if (tensor.count() > static_cast<int64_t>(maxShapeElements))
    return out;
  if (tensor.dtype() == DType::Int32)
    out.integers = elementsOf<int32_t>(tensor);
  else if (tensor.dtype() == DType::Int64)
    out.integers = elementsOf<int64_t>(tensor);
  return out;
}

std::optional<Shape::Dims> integersOf(const ShapeQuery &query) {
  static const std::unordered_map<std::string_view, Integers (*)(const ShapeQuery &)> functions =
      [] {
        std::unordered_map<std::string_view, Integers (*)(const ShapeQuery &)> out;
        for (const IntegerEntry &entry : integerArithmetic())
          out[entry.op] = entry.function;
        for (const IntegerEntry &entry : integerMoves())
          out[entry.op] = entry.function;
        return out;
      }();
  auto found = functions.find(query.op());
  DType type = query.resultType(0);
  if (found == functions.end() || (type != DType::Int32 && type != DType::Int64))
    return std::nullopt;
  Integers values = found->second(query);
  if (values && values->size() > maxShapeElements)
    return std::nullopt;
  return values;
}

} // namespace treadle
