// BiasAdd adds a vector along the channels of a tensor; BiasAddGrad sums over everything else.
#include "treadle/kernels/elementwise/Wrapping.h"

#include <vector>

namespace treadle {
namespace {

/// The shape of a tensor as [outer, channels, inner].
struct Channels {
  int64_t outer = 1, channels = 0, inner = 1;
};

struct BiasState {
  bool channelsFirst; // channels follow the batch dimension
};

bool findChannels(OpContext &ctx, const Tensor &value, Channels &c) {
  int rank = value.rank();
  if (rank < 2) {
    ctx.fail(invalidArgument("the input must have rank 2 or more, but has shape ",
                             dimsText(value.dims())));
    return false;
  }
  int at = ctx.state<BiasState>().channelsFirst ? 1 : rank - 1;
  for (int i = 0; i < rank; ++i)
    (i < at ? c.outer : i == at ? c.channels : c.inner) *= i == at ? 1 : value.dim(i);
  c.channels = value.dim(at);
  return true;
}

template <typename T> struct BiasAddKernel {
  static void addTo(const T *x, const T *bias, T *out, const Channels &c) {
    for (int64_t o = 0; o < c.outer; ++o) {
      if (c.inner == 1) {
        TREADLE_VECTORISE
        for (int64_t k = 0; k < c.channels; ++k)
          out[k] = wrappingSum(x[k], bias[k]);
        x += c.channels;
        out += c.channels;
        continue;
      }
      for (int64_t k = 0; k < c.channels; ++k, x += c.inner, out += c.inner) {
        const T b = bias[k];
        TREADLE_VECTORISE
        for (int64_t i = 0; i < c.inner; ++i)
          out[i] = wrappingSum(x[i], b);
      }
    }
  }

  static void run(OpContext &ctx) {
    const Tensor &value = ctx.input(0);
    const Tensor bias = ctx.input(1);
    Channels c;
    if (!findChannels(ctx, value, c))
      return;
    if (bias.rank() != 1 || bias.dim(0) != c.channels)
      return ctx.fail(invalidArgument("bias must be a vector of ", c.channels,
                                      " elements, one per channel of ", dimsText(value.dims()),
                                      ", but has shape ", dimsText(bias.dims())));
    const T *x = value.data<T>();
    Tensor *out = ctx.reuseInputOrAllocate(0, 0, value.dtype(), value.dims());
    if (out && out->count())
      addTo(x, bias.data<T>(), out->data<T>(), c);
  }
};

template <typename T> struct BiasAddGradKernel {
  // Floats are summed as doubles, since there may be very many. bfloat16 is summed as bfloat16, as
  // in TensorFlow, to get the same results.
  using Sum = std::conditional_t<isRealFloat<T> && !std::is_same_v<T, BFloat16>, double, T>;

  static void run(OpContext &ctx) {
    const Tensor gradient = ctx.input(0);
    Channels c;
    if (!findChannels(ctx, gradient, c))
      return;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, gradient.dtype(), {c.channels}));
    std::vector<Sum> sums(static_cast<size_t>(c.channels));
    const T *x = gradient.data<T>();
    for (int64_t o = 0; o < c.outer; ++o)
      for (size_t k = 0; k < sums.size(); ++k)
        for (int64_t i = 0; i < c.inner; ++i)
          sums[k] = static_cast<Sum>(Widened<Sum>(sums[k]) + Widened<Sum>(static_cast<Sum>(*x++)));
    std::transform(sums.begin(), sums.end(), out->data<T>(), [](Sum s) { return T(s); });
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindBias(const BindContext &node) {
  BoundKernel bound = TREADLE_TRY(bindChosen<NumericTypes>(
      node, node.inputTypes[0], []<typename T>() { return Kernel<Wrapping<T>>::run; }));
  std::string format = node.attrs.getOr("data_format", std::string("NHWC"));
  return boundWith(bound.fn, BiasState{format.starts_with("NC")});
}

const KernelEntry biasTable[] = {
    {"BiasAdd", bindBias<BiasAddKernel>},
    {"BiasAddV1", bindBias<BiasAddKernel>},
    {"BiasAddGrad", bindBias<BiasAddGradKernel>},
};

} // namespace

std::span<const KernelEntry> biasKernels() { return biasTable; }

} // namespace treadle
