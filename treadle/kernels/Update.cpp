#include "treadle/kernels/Update.h"

#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Variants.h"

#include <algorithm>
#include <type_traits>

namespace treadle {
namespace {

template <typename T> constexpr bool isWhole = std::is_integral_v<T>;

// The unsigned type of an integer type, so that overflow wraps around.
template <typename T> struct ArithmeticType {
  using type = T;
};
template <typename T>
  requires isWhole<T>
struct ArithmeticType<T> {
  using type = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
};
template <typename T> using Arithmetic = typename ArithmeticType<T>::type;

template <Update update, typename T> T updated(T x, T y) {
  using A = Arithmetic<T>;
  if constexpr (update == Update::Add)
    return static_cast<T>(static_cast<A>(x) + static_cast<A>(y));
  else if constexpr (update == Update::Sub)
    return static_cast<T>(static_cast<A>(x) - static_cast<A>(y));
  else if constexpr (update == Update::Mul)
    return static_cast<T>(static_cast<A>(x) * static_cast<A>(y));
  else if constexpr (update == Update::Min)
    return y < x || y != y ? y : x; // NaN propagates from either side
  else if constexpr (update == Update::Max)
    return x < y || y != y ? y : x;
  else
    return x / y;
}

// A quotient that doesn't overflow for the smallest integer divided by -1.
template <typename T>
  requires std::is_signed_v<T> && isWhole<T>
T quotient(T x, T y) {
  return y == T(-1) ? static_cast<T>(Arithmetic<T>(0) - static_cast<Arithmetic<T>>(x))
                    : static_cast<T>(x / y);
}
template <typename T> T quotient(T x, T y) { return static_cast<T>(x / y); }

template <Update update, typename T>
bool loop(void *out, const void *a, const void *b, bool bSteps, int64_t n) {
  auto *to = static_cast<T *>(out);
  auto *x = static_cast<const T *>(a);
  auto *y = static_cast<const T *>(b);
  if constexpr (update == Update::Div) {
    for (int64_t i = 0; i < n; ++i) {
      T divisor = y[bSteps ? i : 0];
      if constexpr (isWhole<T>)
        if (divisor == T(0))
          return false;
      to[i] = quotient(x[i], divisor);
    }
  } else if (bSteps) {
    for (int64_t i = 0; i < n; ++i)
      to[i] = updated<update>(x[i], y[i]);
  } else {
    T operand = *y;
    for (int64_t i = 0; i < n; ++i)
      to[i] = updated<update>(x[i], operand);
  }
  return true;
}

template <typename T>
bool assignLoop(void *out, const void *, const void *b, bool bSteps, int64_t n) {
  auto *to = static_cast<T *>(out);
  auto *y = static_cast<const T *>(b);
  if (bSteps)
    std::copy_n(y, n, to);
  else
    std::fill_n(to, n, *y);
  return true;
}

/// The two loops of an update: over the elements of a row, and over rows.
struct Loops {
  UpdateLoop elements = nullptr;
  RowsUpdateLoop rows = nullptr;
};

template <Update update, typename Types> Loops choose(DType dtype) {
  Loops chosen;
  visitType(dtype, Types(),
            [&]<typename T>() { chosen = {loop<update, T>, updateRows<T, loop<update, T>>}; });
  return chosen;
}

Loops loopsOf(Update update, DType dtype) {
  switch (update) {
  case Update::Assign:
    return visitMoved(
        dtype, []<typename T>() -> Loops { return {assignLoop<T>, updateRows<T, assignLoop<T>>}; });
  case Update::Add:
    return choose<Update::Add, NumericTypes>(dtype);
  case Update::Sub:
    return choose<Update::Sub, NumericTypes>(dtype);
  case Update::Mul:
    return choose<Update::Mul, NumericTypes>(dtype);
  case Update::Div:
    return choose<Update::Div, NumericTypes>(dtype);
  case Update::Min:
    return choose<Update::Min, RealTypes>(dtype);
  case Update::Max:
    return choose<Update::Max, RealTypes>(dtype);
  }
  return {};
}

} // namespace

UpdateLoop updateLoop(Update update, DType dtype) { return loopsOf(update, dtype).elements; }
RowsUpdateLoop rowsUpdateLoop(Update update, DType dtype) { return loopsOf(update, dtype).rows; }

Expected<Tensor> addTensors(Tensor a, const Tensor &b) {
  DType dtype = a.dtype();
  if (b.dtype() != dtype || !std::ranges::equal(a.dims(), b.dims()))
    return Unexpected(invalidArgument("cannot add ", tensorTypeText(b), " to ", tensorTypeText(a),
                                      ": expected the same shape and dtype"));
  if (dtype == DType::Variant)
    return addVariantTensors(a, b);
  UpdateLoop add = updateLoop(Update::Add, dtype);
  if (!add)
    return Unexpected(unimplemented("tensors of ", dtypeName(dtype), " can't be added"));
  if (a.isUnique()) {
    add(a.raw(), a.raw(), b.raw(), true, a.count());
    return a;
  }
  return Tensor::make(dtype, a.dims()).map([&](Tensor sum) {
    add(sum.raw(), a.raw(), b.raw(), true, a.count());
    return sum;
  });
}

Expected<Tensor> zerosOf(DType dtype, Dims dims) {
  return Tensor::make(dtype, dims).map([](Tensor zeros) {
    if (isPlain(zeros.dtype()) && zeros.count())
      std::memset(zeros.raw(), 0, zeros.bytes());
    return zeros;
  });
}

Expected<Tensor> zerosLikeTensor(const Tensor &like) {
  return like.dtype() == DType::Variant ? zerosLikeVariants(like)
                                        : zerosOf(like.dtype(), like.dims());
}

} // namespace treadle
