// Activation functions; their gradients are with the other elementwise gradients.
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/VectorMath.h"

#include <cmath>

namespace treadle {
namespace {

// Comparisons are written so that NaN passes through.
struct ReluOp {
  template <typename T> static T apply(T x) { return x < T(0) ? T(0) : x; }
};
struct Relu6Op {
  template <typename T> static T apply(T x) { return x < T(0) ? T(0) : x > T(6) ? T(6) : x; }
};
struct EluOp {
  static constexpr float cost = 10;
  template <typename T> static T apply(T x) { return x < T(0) ? T(std::expm1(Computed<T>(x))) : x; }
  static void applyAll(const float *in, float *out, int64_t n) {
    TREADLE_VECTORISE for (int64_t i = 0; i < n; ++i) out[i] =
        in[i] < 0 ? vectorExpm1(in[i]) : in[i];
  }
};
// Klambauer et al., "Self-normalizing neural networks", 2017: lambda, and lambda * alpha.
struct SeluOp {
  static constexpr float cost = 10;
  static constexpr double scale = 1.0507009873554804934193349852946;
  static constexpr double scaledAlpha = 1.7580993408473768599402175208123;
  template <typename T> static T apply(T x) {
    using C = Computed<T>;
    C v(x);
    return T(v < 0 ? C(scaledAlpha) * std::expm1(v) : C(scale) * v);
  }
  static void applyAll(const float *in, float *out, int64_t n) {
    constexpr auto below = static_cast<float>(scaledAlpha), above = static_cast<float>(scale);
    TREADLE_VECTORISE for (int64_t i = 0; i < n; ++i) out[i] =
        in[i] < 0 ? below * vectorExpm1(in[i]) : above * in[i];
  }
};
struct SoftplusOp {
  static constexpr float cost = 15;
  template <typename T> static T apply(T x) {
    using C = Computed<T>;
    // Beyond it, adding 1 to exp(x) no longer makes a difference in T.
    const C limit = -std::log(C(std::numeric_limits<T>::epsilon())) - 2;
    C v(x);
    if (v > limit)
      return x;
    C e = std::exp(v);
    return T(v < -limit ? e : std::log1p(e));
  }
  static void applyAll(const float *in, float *out, int64_t n) {
    const float limit = -std::log(std::numeric_limits<float>::epsilon()) - 2;
    TREADLE_VECTORISE for (int64_t i = 0; i < n; ++i) {
      float e = vectorExp(in[i]), sum = vectorLog1p(e);
      float result = in[i] < -limit ? e : sum;
      out[i] = in[i] > limit ? in[i] : result;
    }
  }
};
struct SoftsignOp {
  template <typename T> static T apply(T x) {
    Computed<T> v(x);
    return T(v / (std::fabs(v) + 1));
  }
};

template <typename T> struct LeakyReluKernel {
  static void run(OpContext &ctx) {
    const Tensor &features = ctx.input(0);
    const T alpha = T(ctx.state<float>());
    const T *x = features.data<T>();
    int64_t n = features.count();
    Tensor *out =
        TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, features.dtype(), features.dims()));
    T *result = out->data<T>();
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      result[i] = x[i] > T(0) ? x[i] : x[i] * alpha;
  }
};

Expected<BoundKernel> bindLeakyRelu(const BindContext &node) {
  return withState(bindByType<LeakyReluKernel, FloatTypes>(node),
                   node.attrs.getOr<float>("alpha", 0.2f));
}

// --- L2Loss --------------------------------------------------------------------------------------

template <typename T> struct L2LossKernel {
  static void run(OpContext &ctx) {
    double sum = 0;
    for (T x : ctx.input(0).values<T>())
      sum += static_cast<double>(x) * static_cast<double>(x);
    ctx.setOutput(0, Tensor::scalar<T>(dtypeOf<T>, T(sum / 2)));
  }
};

const KernelEntry activationTable[] = {
    {"Relu", bindUnary<ReluOp, RealTypes>},
    {"Relu6", bindUnary<Relu6Op, RealTypes>},
    {"LeakyRelu", bindLeakyRelu},
    {"Elu", bindUnary<EluOp, FloatTypes>},
    {"Selu", bindUnary<SeluOp, FloatTypes>},
    {"Softplus", bindUnary<SoftplusOp, FloatTypes>},
    {"Softsign", bindUnary<SoftsignOp, FloatTypes>},
    {"L2Loss", bindByType<L2LossKernel, FloatTypes>},
};

} // namespace

std::span<const KernelEntry> activationKernels() { return activationTable; }

} // namespace treadle
