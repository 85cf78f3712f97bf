// Gradients of elementwise functions: `XGrad(y, dy)` in terms of the function's result, and those
// of activations in terms of (gradients, features) or (gradients, outputs).
#include "treadle/kernels/elementwise/Elementwise.h"

#include <cmath>

namespace treadle {
namespace {

// dy is multiplied by the derivative; for complex functions by its conjugate (except for Sigmoid
// and Tanh, as in TensorFlow).
template <typename T> T conjugate(T x) {
  if constexpr (isComplexType<T>)
    return std::conj(x);
  else
    return x;
}

struct SigmoidGradOp {
  template <typename T> static T apply(T y, T dy) { return dy * (y * (T(1) - y)); }
};
struct TanhGradOp {
  template <typename T> static T apply(T y, T dy) { return dy * (T(1) - y * y); }
};
struct SqrtGradOp {
  template <typename T> static T apply(T y, T dy) { return dy * T(0.5) / conjugate(y); }
};
struct RsqrtGradOp {
  template <typename T> static T apply(T y, T dy) {
    T c = conjugate(y);
    return T(-0.5) * (dy * c) * (c * c);
  }
};
struct ReciprocalGradOp {
  template <typename T> static T apply(T y, T dy) {
    T c = conjugate(y);
    return -dy * (c * c);
  }
};

// --- activations -------------------------------------------------------------------------------

// A product, so that a NaN gradient stays NaN where it is gated.
template <typename T> T gated(T gradient, bool passes) {
  return static_cast<T>(gradient * static_cast<T>(passes));
}

struct ReluGradOp {
  template <typename T> static T apply(T g, T x) { return gated(g, x > T(0)); }
};
struct Relu6GradOp {
  template <typename T> static T apply(T g, T x) { return gated(g, x > T(0) && x < T(6)); }
};
struct EluGradOp {
  template <typename T> static T apply(T g, T y) { return y < T(0) ? (y + T(1)) * g : g; }
};
struct SeluGradOp {
  static constexpr double scale = 1.0507009873554804934193349852946;
  static constexpr double scaledAlpha = 1.7580993408473768599402175208123;
  template <typename T> static T apply(T g, T y) {
    return y < T(0) ? g * (y + T(scaledAlpha)) : g * T(scale);
  }
};
struct SoftplusGradOp {
  static constexpr float cost = 10;
  template <typename T> static T apply(T g, T x) {
    Computed<T> v(x);
    return T(Computed<T>(g) / (std::exp(-v) + 1));
  }
};
struct SoftsignGradOp {
  template <typename T> static T apply(T g, T x) {
    Computed<T> v = 1 + std::fabs(Computed<T>(x));
    return T(Computed<T>(g) / (v * v));
  }
};

template <typename T> struct LeakyReluGradKernel {
  static void run(OpContext &ctx) {
    const Tensor &gradient = ctx.input(0), &features = ctx.input(1);
    if (!std::ranges::equal(gradient.dims(), features.dims()))
      return ctx.fail(invalidArgument("gradients ", dimsText(gradient.dims()), " and features ",
                                      dimsText(features.dims()), " must have the same shape"));
    const T alpha = T(ctx.state<float>());
    const T *g = gradient.data<T>(), *x = features.data<T>();
    int64_t n = gradient.count();
    Tensor *out =
        TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, gradient.dtype(), gradient.dims()));
    T *result = out->data<T>();
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      result[i] = x[i] > T(0) ? g[i] : g[i] * alpha;
  }
};

Expected<BoundKernel> bindLeakyReluGrad(const BindContext &node) {
  return withState(bindByType<LeakyReluGradKernel, FloatTypes>(node),
                   node.attrs.getOr<float>("alpha", 0.2f));
}

using FloatAndComplexTypes = Join<FloatTypes, ComplexTypes>;

const KernelEntry elementwiseGradTable[] = {
    {"SigmoidGrad", bindPairwise<SigmoidGradOp, FloatAndComplexTypes>},
    {"TanhGrad", bindPairwise<TanhGradOp, FloatAndComplexTypes>},
    {"SqrtGrad", bindPairwise<SqrtGradOp, FloatAndComplexTypes>},
    {"RsqrtGrad", bindPairwise<RsqrtGradOp, FloatAndComplexTypes>},
    {"ReciprocalGrad", bindPairwise<ReciprocalGradOp, FloatAndComplexTypes>},
    {"InvGrad", bindPairwise<ReciprocalGradOp, FloatAndComplexTypes>},
    {"ReluGrad", bindPairwise<ReluGradOp, RealTypes>},
    {"Relu6Grad", bindPairwise<Relu6GradOp, RealTypes>},
    {"EluGrad", bindPairwise<EluGradOp, FloatTypes>},
    {"SeluGrad", bindPairwise<SeluGradOp, FloatTypes>},
    {"SoftplusGrad", bindPairwise<SoftplusGradOp, FloatTypes>},
    {"SoftsignGrad", bindPairwise<SoftsignGradOp, FloatTypes>},
    {"LeakyReluGrad", bindLeakyReluGrad},
};

} // namespace

std::span<const KernelEntry> elementwiseGradKernels() { return elementwiseGradTable; }

} // namespace treadle
