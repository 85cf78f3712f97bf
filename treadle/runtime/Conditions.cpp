#include "treadle/runtime/Conditions.h"

#include <algorithm>
#include <functional>

namespace treadle {

bool isTruthConvertible(DType dtype) {
  switch (dtype) {
  case DType::Bool:
  case DType::Int8:
  case DType::UInt8:
  case DType::Int16:
  case DType::UInt16:
  case DType::Int32:
  case DType::UInt32:
  case DType::Int64:
  case DType::UInt64:
  case DType::Float32:
  case DType::Float64:
  case DType::String:
    return true;
  default:
    return false;
  }
}

Expected<bool> isTrue(const Tensor &t) {
  if (!t.isScalar())
    return t.count() > 0;
  if (t.dtype() == DType::Bool) [[likely]]
    return t.scalarValue<bool>();
  if (!isTruthConvertible(t.dtype()))
    return Unexpected(invalidArgument("a ", dtypeName(t.dtype()), " scalar can't be a condition"));
  switch (t.dtype()) {
  case DType::Float32: // -0 is 0
    return t.scalarValue<float>() != 0;
  case DType::Float64:
    return t.scalarValue<double>() != 0;
  case DType::String:
    return !t.scalarValue<std::string>().empty();
  default:
    return std::ranges::any_of(std::span(t.data<char>(), t.bytes()), std::identity());
  }
}

Expected<bool> switchPredicateOf(const Tensor &t) {
  if (t && t.isScalar() && t.dtype() == DType::Bool) [[likely]]
    return t.scalarValue<bool>();
  return Unexpected(
      invalidArgument("the predicate must be a bool scalar, found ", tensorTypeText(t)));
}

Expected<int> branchIndexOf(const Tensor &index, size_t count) {
  if (!index || !index.isScalar() || index.dtype() != DType::Int32)
    return Unexpected(
        invalidArgument("the index must be an int32 scalar, found ", tensorTypeText(index)));
  int last = static_cast<int>(count) - 1, chosen = index.scalarValue<int32_t>();
  return chosen < 0 || chosen > last ? last : chosen;
}

} // namespace treadle
