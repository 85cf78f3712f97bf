#include "treadle/runtime/Choice.h"

namespace treadle {

template <typename T> static bool isNonZero(const Tensor &t) { return t.scalarValue<T>() != T(0); }

Expected<bool> isTrue(const Tensor &t) {
  if (!t.isScalar())
    return t.count() > 0;
  switch (t.dtype()) {
  case DType::Bool:
    return t.scalarValue<bool>();
  case DType::Int32:
  case DType::UInt32:
    return isNonZero<int32_t>(t);
  case DType::Int64:
  case DType::UInt64:
    return isNonZero<int64_t>(t);
  case DType::Int8:
  case DType::UInt8:
    return isNonZero<int8_t>(t);
  case DType::Int16:
  case DType::UInt16:
    return isNonZero<int16_t>(t);
  case DType::Float32:
    return isNonZero<float>(t);
  case DType::Float64:
    return isNonZero<double>(t);
  case DType::String:
    return !t.scalarValue<std::string>().empty();
  default:
    return Unexpected(invalidArgument("a ", dtypeName(t.dtype()), " scalar can't be a condition"));
  }
}

Expected<bool> asPredicate(const Tensor &t) {
  if (t && t.isScalar() && t.dtype() == DType::Bool) [[likely]]
    return t.scalarValue<bool>();
  return Unexpected(
      invalidArgument("the predicate must be a bool scalar, found ", tensorTypeText(t)));
}

Expected<int> asChoice(const Tensor &index, size_t count) {
  if (!index || !index.isScalar() || index.dtype() != DType::Int32)
    return Unexpected(
        invalidArgument("the index must be an int32 scalar, found ", tensorTypeText(index)));
  int last = static_cast<int>(count) - 1, chosen = index.scalarValue<int32_t>();
  return chosen < 0 || chosen > last ? last : chosen;
}

} // namespace treadle
