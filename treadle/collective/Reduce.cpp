// Elementwise reductions: one template, instantiated by dtype and reduction.
#include "treadle/collective/Communicator.h"

#include <Eigen/Core>

#include <algorithm>

namespace treadle {
namespace {

template <Reduction reduction, typename T> T combine(T a, T b) {
  if constexpr (reduction == Reduction::Add)
    return static_cast<T>(a + b);
  else if constexpr (reduction == Reduction::Mul)
    return static_cast<T>(a * b);
  else if constexpr (reduction == Reduction::Min)
    return b < a ? b : a;
  else
    return a < b ? b : a;
}

template <Reduction reduction, typename T> void combineAll(Tensor &value, const Tensor &other) {
  T *out = value.data<T>();
  const T *in = other.data<T>();
  for (int64_t i = 0, n = value.count(); i < n; ++i)
    out[i] = combine<reduction>(out[i], in[i]);
}

template <typename T> void divideAll(Tensor &value, int64_t divisor) {
  T *out = value.data<T>();
  for (int64_t i = 0, n = value.count(); i < n; ++i)
    out[i] = static_cast<T>(out[i] / static_cast<T>(divisor));
}

using Combine = void (*)(Tensor &, const Tensor &);
struct DTypeReductions {
  DType dtype;
  Combine combine[4]; // indexed by Reduction
  void (*divide)(Tensor &, int64_t);
};
template <typename T> constexpr DTypeReductions row(DType dtype) {
  return {dtype,
          {combineAll<Reduction::Add, T>, combineAll<Reduction::Mul, T>,
           combineAll<Reduction::Min, T>, combineAll<Reduction::Max, T>},
          divideAll<T>};
}
constexpr DTypeReductions rows[] = {
    row<float>(DType::Float32),       row<double>(DType::Float64),
    row<Eigen::half>(DType::Float16), row<Eigen::bfloat16>(DType::BFloat16),
    row<int32_t>(DType::Int32),       row<int64_t>(DType::Int64),
    row<int16_t>(DType::Int16),       row<int8_t>(DType::Int8),
    row<uint8_t>(DType::UInt8),       row<uint16_t>(DType::UInt16),
    row<uint32_t>(DType::UInt32),     row<uint64_t>(DType::UInt64),
};

Expected<const DTypeReductions *> rowOf(DType dtype) {
  const DTypeReductions *found = std::ranges::find(rows, dtype, &DTypeReductions::dtype);
  if (found == std::end(rows))
    return Unexpected(unimplemented("values of ", dtypeName(dtype), " can't be reduced"));
  return found;
}

} // namespace

Expected<void> reduceInto(Tensor &value, const Tensor &other, Reduction reduction) {
  return rowOf(value.dtype()).map([&](const DTypeReductions *found) {
    found->combine[static_cast<int>(reduction)](value, other);
  });
}

Expected<void> divideBy(Tensor &value, int64_t divisor) {
  return rowOf(value.dtype()).map([&](const DTypeReductions *found) {
    found->divide(value, divisor);
  });
}

} // namespace treadle
