// BatchNormWithGlobalNormalization, the first batch normalization op, and its gradient. Mean and
// variance of each channel are inputs.
#include "treadle/kernels/elementwise/Elementwise.h"

#include <cmath>

namespace treadle {
namespace {

struct Options {
  float epsilon;
  bool scales; // by gamma
};

// Checks the input, and the vectors of its channels (inputs 1 to 3 or 4).
bool checkInputs(OpContext &ctx, int vectors) {
  const Tensor &in = ctx.input(0);
  bool isRight = in.rank() == 4;
  for (int i = 1; isRight && i <= vectors; ++i)
    isRight = ctx.input(i).rank() == 1 && ctx.input(i).dim(0) == in.dim(3);
  if (!isRight)
    ctx.fail(invalidArgument("input must have rank 4, and inputs 1 to ", vectors,
                             " must be vectors of its channels, but its shape is ",
                             dimsText(in.dims())));
  return isRight;
}

/// Returns the factor of a channel.
template <typename T> Computed<T> scaleOf(OpContext &ctx, int64_t channel, int gamma) {
  using C = Computed<T>;
  const auto &options = ctx.state<Options>();
  C root = 1 / std::sqrt(C(ctx.input(2).data<T>()[channel]) + C(T(options.epsilon)));
  return options.scales && gamma ? root * C(ctx.input(gamma).data<T>()[channel]) : root;
}

// Inputs: t, m, v, beta, gamma.
template <typename T> struct Normalize {
  static void run(OpContext &ctx) {
    using C = Computed<T>;
    if (!checkInputs(ctx, 4))
      return;
    const Tensor in = ctx.input(0);
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, in.dims()));
    int64_t channels = in.dim(3);
    const T *mean = ctx.input(1).data<T>(), *beta = ctx.input(3).data<T>();
    for (int64_t c = 0; c < channels; ++c) {
      C scale = scaleOf<T>(ctx, c, 4);
      for (int64_t i = c; i < in.count(); i += channels)
        out->data<T>()[i] = T((C(in.data<T>()[i]) - C(mean[c])) * scale + C(beta[c]));
    }
  }
};

// Inputs: t, m, v, gamma, backprop. Outputs: the gradients of t, m, v, beta, gamma.
template <typename T> struct NormalizeGrad {
  static void run(OpContext &ctx) {
    using C = Computed<T>;
    if (!checkInputs(ctx, 3))
      return;
    const Tensor in = ctx.input(0), slopes = ctx.input(4);
    if (!std::ranges::equal(in.dims(), slopes.dims()))
      return ctx.fail(invalidArgument("backprop has shape ", dimsText(slopes.dims()),
                                      ", but the input has ", dimsText(in.dims())));
    int64_t channels = in.dim(3);
    T *out[5];
    for (int k = 0; k < 5; ++k) {
      Tensor *t =
          TREADLE_OR_RETURN(ctx.allocateOutput(k, dtypeOf<T>, k ? ctx.input(1).dims() : in.dims()));
      out[k] = t->data<T>();
    }
    bool scales = ctx.state<Options>().scales;
    for (int64_t c = 0; c < channels; ++c) {
      C mean(ctx.input(1).data<T>()[c]), root = scaleOf<T>(ctx, c, 0),
                                         scale = scaleOf<T>(ctx, c, 3);
      C sum = 0, product = 0;
      for (int64_t i = c; i < in.count(); i += channels) {
        C slope(slopes.data<T>()[i]);
        sum += slope;
        product += slope * (C(in.data<T>()[i]) - mean);
        out[0][i] = T(slope * scale);
      }
      out[1][c] = T(-sum * scale);
      out[2][c] = T(product * scale * C(-0.5) * root * root);
      out[3][c] = T(sum);
      out[4][c] = T(scales ? product * root : C(0));
    }
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindNormalization(const BindContext &node) {
  return withState(bindByType<Kernel, TypeList<float, double, Half>>(node),
                   Options{node.attrs.getOr("variance_epsilon", 0.0f),
                           node.attrs.getOr("scale_after_normalization", false)});
}

const KernelEntry globalNormalizationTable[] = {
    {"BatchNormWithGlobalNormalization", bindNormalization<Normalize>},
    {"BatchNormWithGlobalNormalizationGrad", bindNormalization<NormalizeGrad>},
};

} // namespace

std::span<const KernelEntry> globalNormalizationKernels() { return globalNormalizationTable; }

} // namespace treadle
