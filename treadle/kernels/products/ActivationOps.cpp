// Ops for the activations that epilogues support and TensorFlow has no op for, and gradients of
// those that take more than a few operations.
#include "treadle/kernels/Widened.h"
#include "treadle/kernels/products/Epilogue.h"

#include <Eigen/Core>
#include <unsupported/Eigen/SpecialFunctions>

#include <algorithm>

namespace treadle {
namespace {

template <typename T> struct ActivationKernel {
  static void run(OpContext &ctx) {
    const Tensor &x = ctx.input(0);
    const T *from = x.data<T>();
    int64_t count = x.count();
    Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, x.dtype(), x.dims()));
    T *to = out->data<T>();
    constexpr double nsPerElement = 0.5;
    ctx.parallelFor(count, nsPerElement, [&](int64_t begin, int64_t end) {
      // Works piece by piece, so that copied data is still in the cache.
      constexpr int64_t piece = 4096;
      for (int64_t at = begin; at < end; at += piece) {
        int64_t n = std::min(piece, end - at);
        if (to != from)
          std::copy_n(from + at, n, to + at);
        activate(ctx.state<Activation>(), 0, to + at, n);
      }
    });
  }
};

/// Binds an op named after its activation, with a leading underscore.
Expected<BoundKernel> bindActivation(const BindContext &node) {
  return withState(bindByType<ActivationKernel, TypeList<float, double>>(node),
                   findActivation(node.op.substr(1)).value_or(Activation()));
}

// --- gradients: the gradient of the result times the derivative at x -----------------------------

template <typename T> using Elements = Eigen::Array<T, Eigen::Dynamic, 1, 0, 256, 1>;

struct GeluExactSlope {
  template <typename T> static Elements<T> at(const Elements<T> &x) {
    Elements<T> density =
        (x.square() * T(-0.5)).exp() * T(0.39894228040143267794); // 1 / sqrt(2 pi)
    return ((x * T(0.70710678118654752440)).erf() + T(1)) * T(0.5) + x * density;
  }
};

struct GeluApproximateSlope {
  template <typename T> static Elements<T> at(const Elements<T> &x) {
    constexpr T factor(0.79788456080286535588), cubicTerm(0.044715); // sqrt(2 / pi)
    Elements<T> tanh = ((x + x.cube() * cubicTerm) * factor).tanh();
    Elements<T> inner = (x.square() * (3 * cubicTerm) + T(1)) * factor;
    return (tanh + T(1)) * T(0.5) + x * T(0.5) * (T(1) - tanh.square()) * inner;
  }
};

struct SwishSlope {
  template <typename T> static Elements<T> at(const Elements<T> &x) {
    Elements<T> sigmoid = x.logistic();
    return sigmoid * (x * (T(1) - sigmoid) + T(1));
  }
};

template <typename Slope> struct GradientOf {
  template <typename T> struct Kernel {
    static void run(OpContext &ctx) {
      const Tensor &gradient = ctx.input(0), &x = ctx.input(1);
      if (!std::ranges::equal(gradient.dims(), x.dims()))
        return ctx.fail(invalidArgument("the gradient ", dimsText(gradient.dims()), " and x ",
                                        dimsText(x.dims()), " must have the same shape"));
      const T *g = gradient.data<T>(), *from = x.data<T>();
      Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, x.dtype(), x.dims()));
      T *to = out->data<T>();
      constexpr double nsPerElement = 1;
      ctx.parallelFor(x.count(), nsPerElement, [&](int64_t begin, int64_t end) {
        for (int64_t at = begin; at < end; at += 256) {
          int64_t n = std::min<int64_t>(256, end - at);
          using Given = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
          Elements<T> slope = Slope::template at<T>(Given(from + at, n));
          Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>(to + at, n) = Given(g + at, n) * slope;
        }
      });
    }
  };
};

template <typename Slope> Expected<BoundKernel> bindGradient(const BindContext &node) {
  return bindByType<GradientOf<Slope>::template Kernel, TypeList<float, double>>(node);
}

const KernelEntry activationOpTable[] = {
    {"_GeluApproximate", bindActivation},
    {"_GeluExact", bindActivation},
    {"_HardSigmoid", bindActivation},
    {"_HardSwish", bindActivation},
    {"_Swish", bindWithHalfFloats<bindActivation>},
    {"_SwishGrad", bindGradient<SwishSlope>},
    {"_GeluExactGrad", bindGradient<GeluExactSlope>},
    {"_GeluApproximateGrad", bindGradient<GeluApproximateSlope>},
};

} // namespace

std::span<const KernelEntry> activationOpKernels() { return activationOpTable; }

} // namespace treadle
