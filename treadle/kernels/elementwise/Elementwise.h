// The framework of elementwise kernels. An op is a struct with a static `apply` for one element;
// the templates here turn it into a kernel with a fast path for scalars, and leave everything that
// doesn't depend on the element type to shared drivers.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/elementwise/Broadcast.h"

#include <type_traits>

// Loops may overwrite an operand in place, which the vectorizer can't prove to be safe.
#define TREADLE_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed"

namespace treadle {

// --- drivers -----------------------------------------------------------------------------------

/// Computes `n` elements; an operand that doesn't step is one element for all. Returns false if an
/// element has no result (division by zero).
using BinaryLoop = bool (*)(const void *a, bool aSteps, const void *b, bool bSteps, void *out,
                            int64_t n);
using UnaryLoop = void (*)(const void *in, void *out, int64_t n);

struct BinarySpec {
  BinaryLoop loop;
  uint16_t inSize, outSize; // bytes per element
  float cost;               // ns per element, to decide about threads
  const char *failure;      // the error message if `loop` returns false
};

struct UnarySpec {
  UnaryLoop loop;
  uint16_t inSize, outSize;
  float cost;
};

/// Computes output 0 of dtype `out` from inputs 0 and 1, which are broadcast.
void runBinary(OpContext &ctx, const BinarySpec &spec, DType out);
/// Computes output 0 of dtype `out` from input 0, of the same shape.
void runUnary(OpContext &ctx, const UnarySpec &spec, DType out);
/// Computes output 0 from inputs 0 and 1 of the same shape (or scalars): for the gradient ops,
/// which don't broadcast.
void runPairwise(OpContext &ctx, const BinarySpec &spec, DType out);

/// The error for operands that don't broadcast.
Error incompatibleShapes(Dims a, Dims b);

/// Sets output 0 to a scalar, in the buffer of input `in` if possible.
template <typename Out>
inline void setScalarOutput(OpContext &ctx, int in, bool mayReuse, DType dtype, Out value) {
  if (mayReuse && ctx.canReuseInput(in)) {
    Tensor t = ctx.takeInput(in);
    t.get()->dtype = dtype;
    *t.data<Out>() = std::move(value);
    ctx.setOutput(0, std::move(t));
    return;
  }
  Tensor t = Tensor::makeScalar(dtype);
  *t.data<Out>() = std::move(value);
  ctx.setOutput(0, std::move(t));
}

// --- element types -----------------------------------------------------------------------------

/// The type in which sums, differences and products of T are computed: unsigned for integers, which
/// must wrap around; signed types share the kernels of the unsigned ones.
template <typename T> struct WrappingType {
  using type = T;
};
template <typename T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct WrappingType<T> {
  using type = std::make_unsigned_t<T>;
};
template <typename T> using Wrapping = typename WrappingType<T>::type;

/// The type for single additions and multiplications: unsigned, so that integers wrap around, and
/// wide enough that C++ doesn't promote it to `int`.
template <typename T>
using Widened = std::conditional_t<std::is_integral_v<T> && sizeof(T) < 4, uint32_t, Wrapping<T>>;

template <typename T>
inline constexpr bool isSmallFloat = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <typename T>
inline constexpr bool isComplexType = std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;
template <typename T>
inline constexpr bool isRealFloat = std::is_floating_point_v<T> || isSmallFloat<T>;

/// The type of the computation: float for 16-bit floats.
template <typename T> using Computed = std::conditional_t<isSmallFloat<T>, float, T>;

template <typename Op> constexpr float costOf() {
  if constexpr (requires { Op::cost; })
    return Op::cost;
  return 0.5f;
}

// --- binary ops --------------------------------------------------------------------------------

/// A kernel computed by `Op::apply(T, T)`, or by `Op::apply(T, T, bool &failed)` with the error
/// message `Op::failure`.
template <typename Op, typename T> struct BinaryKernel {
  static constexpr bool canFail = requires { Op::failure; };

  static auto applyTo(const T &a, const T &b, [[maybe_unused]] bool &failed) {
    if constexpr (canFail)
      return Op::apply(a, b, failed);
    else
      return Op::apply(a, b);
  }
  using Out = decltype([] {
    bool failed = false;
    return applyTo(T(), T(), failed);
  }());

  static bool loop(const void *aData, bool aSteps, const void *bData, bool bSteps, void *outData,
                   int64_t n) {
    const T *a = static_cast<const T *>(aData);
    const T *b = static_cast<const T *>(bData);
    Out *out = static_cast<Out *>(outData);
    bool failed = false;
    if (aSteps && bSteps) {
      TREADLE_VECTORISE
      for (int64_t i = 0; i < n; ++i)
        out[i] = applyTo(a[i], b[i], failed);
    } else if (aSteps) {
      const T y = *b;
      TREADLE_VECTORISE
      for (int64_t i = 0; i < n; ++i)
        out[i] = applyTo(a[i], y, failed);
    } else {
      const T x = *a;
      TREADLE_VECTORISE
      for (int64_t i = 0; i < n; ++i)
        out[i] = applyTo(x, b[i], failed);
    }
    return !failed;
  }

  static constexpr const char *failureText() {
    if constexpr (canFail)
      return Op::failure;
    return nullptr;
  }
  static constexpr BinarySpec spec = {loop, sizeof(T), sizeof(Out), costOf<Op>(), failureText()};

  static DType outType(const Tensor &a) {
    return std::is_same_v<Out, bool> ? DType::Bool : a.dtype();
  }

  static void run(OpContext &ctx) {
    const Tensor &a = ctx.input(0);
    const Tensor &b = ctx.input(1);
    if (a.isScalar() && b.isScalar()) [[likely]] {
      bool failed = false;
      DType dtype = outType(a);
      Out value = applyTo(a.template scalarValue<T>(), b.template scalarValue<T>(), failed);
      if (canFail && failed) [[unlikely]]
        return ctx.fail(invalidArgument(failureText()));
      constexpr bool mayReuse = sizeof(Out) == sizeof(T) && std::is_trivially_copyable_v<T>;
      return setScalarOutput<Out>(ctx, 0, mayReuse, dtype, std::move(value));
    }
    runBinary(ctx, spec, outType(a));
  }

  static void runSameShape(OpContext &ctx) { runPairwise(ctx, spec, outType(ctx.input(0))); }
};

/// Binds a binary op: {"Maximum", bindBinary<MaximumOp, RealTypes>}
template <typename Op, typename Types> Expected<BoundKernel> bindBinary(const BindContext &node) {
  return bindChosen<Types>(node, node.inputTypes[0],
                           []<typename T>() { return BinaryKernel<Op, T>::run; });
}

/// Like `bindBinary`, but for ops that are exact modulo 2^n: integers of one size share one kernel.
template <typename Op, typename Types> Expected<BoundKernel> bindWrapping(const BindContext &node) {
  return bindChosen<Types>(node, node.inputTypes[0],
                           []<typename T>() { return BinaryKernel<Op, Wrapping<T>>::run; });
}

/// Like `bindWrapping`, but for ops whose inputs must have the same shape (`XGrad(y, dy)`).
template <typename Op, typename Types> Expected<BoundKernel> bindPairwise(const BindContext &node) {
  return bindChosen<Types>(node, node.inputTypes[0],
                           []<typename T>() { return BinaryKernel<Op, T>::runSameShape; });
}

// --- unary ops ---------------------------------------------------------------------------------

/// A kernel computed by `Op::apply(T)`, and for arrays by `Op::applyAll(const T *, T *, n)` if the
/// op has a faster one.
template <typename Op, typename T> struct UnaryKernel {
  using Out = decltype(Op::apply(T()));

  static void loop(const void *inData, void *outData, int64_t n) {
    const T *in = static_cast<const T *>(inData);
    Out *out = static_cast<Out *>(outData);
    if constexpr (requires { Op::applyAll(in, out, n); }) {
      Op::applyAll(in, out, n);
    } else {
      TREADLE_VECTORISE
      for (int64_t i = 0; i < n; ++i)
        out[i] = Op::apply(in[i]);
    }
  }
  static constexpr UnarySpec spec = {loop, sizeof(T), sizeof(Out), costOf<Op>()};

  static DType outType(const Tensor &in) {
    return std::is_same_v<Out, T> ? in.dtype() : dtypeOf<Out>;
  }

  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    if (in.isScalar()) {
      DType dtype = outType(in);
      return setScalarOutput<Out>(ctx, 0, sizeof(Out) == sizeof(T), dtype,
                                  Op::apply(in.template scalarValue<T>()));
    }
    runUnary(ctx, spec, outType(in));
  }
};

template <typename Op, typename Types> Expected<BoundKernel> bindUnary(const BindContext &node) {
  return bindChosen<Types>(node, node.inputTypes[0],
                           []<typename T>() { return UnaryKernel<Op, T>::run; });
}

} // namespace treadle
