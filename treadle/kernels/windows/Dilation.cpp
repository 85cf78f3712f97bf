// Dilation2D: the maximum of sums of an image and a filter under a sliding window (grayscale
// morphology), and its gradients, which flow to the position of the maximum.
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Wrapping.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace treadle {
namespace {

/// The geometry of a dilation: [batch, rows, columns, channels] in and out.
struct DilationGeometry {
  Window window;
  int64_t batch, channels;

  int64_t outCount() const {
    return batch * window.out[0] * window.out[1] * window.out[2] * channels;
  }
  std::vector<int64_t> outDims() const { return {batch, window.out[1], window.out[2], channels}; }
};

std::optional<DilationGeometry> placeDilation(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &filter = ctx.input(1);
  if (in.rank() != 4 || filter.rank() != 3 || in.dim(3) != filter.dim(2)) {
    ctx.fail(invalidArgument("input must be of [batch,rows,columns,channels] and filter of "
                             "[rows,columns,channels], but they are ",
                             tensorTypeText(in), " and ", tensorTypeText(filter)));
    return std::nullopt;
  }
  DilationGeometry place{{}, in.dim(0), in.dim(3)};
  if (!placeWindow(ctx, ctx.state<WindowAttrs>(), {1, in.dim(1), in.dim(2)},
                   {1, filter.dim(0), filter.dim(1)}, place.window))
    return std::nullopt;
  return place;
}

/// The largest sum for each element of the result, and the elements of input and filter that it is
/// the sum of. If a window covers nothing, or only lowest values, these are the position where the
/// window begins (-1 if that is outside) and the first element of the filter, as in TensorFlow.
template <typename T> struct Maxima {
  std::vector<T> values;
  std::vector<int64_t> in, filter;

  Maxima(const DilationGeometry &place, const T *image, const T *weights)
      : values(static_cast<size_t>(place.outCount()), std::numeric_limits<T>::lowest()),
        in(values.size()), filter(values.size()) {
    const Window &w = place.window;
    int64_t channels = place.channels, outSize = w.out[1] * w.out[2] * channels;
    for (size_t at = 0; at < in.size(); ++at) {
      auto o = static_cast<int64_t>(at);
      int64_t c = o % channels, column = o / channels % w.out[2];
      int64_t row = o / channels / w.out[2] % w.out[1];
      int64_t x = std::max<int64_t>(0, column * w.stride[2] - w.padBefore[2]);
      int64_t y = std::max<int64_t>(0, row * w.stride[1] - w.padBefore[1]);
      bool isInside = y < w.in[1] && x < w.in[2];
      in[at] = isInside ? ((o / outSize * w.in[1] + y) * w.in[2] + x) * channels + c : -1;
      filter[at] = c;
    }
    for (int64_t n = 0; n < place.batch; ++n)
      forEachTap(w, [&](int64_t o, int64_t i, int64_t k) {
        int64_t from = (n * w.in[1] * w.in[2] + i) * channels, to = n * outSize + o * channels;
        for (int64_t c = 0; c < channels; ++c) {
          T sum = wrappingSum(image[from + c], weights[k * channels + c]);
          auto at = static_cast<size_t>(to + c);
          if (!(sum > values[at]))
            continue;
          values[at] = sum;
          in[at] = from + c;
          filter[at] = k * channels + c;
        }
      });
  }
};

template <typename T> struct Dilation {
  static void run(OpContext &ctx) {
    auto place = placeDilation(ctx);
    Tensor *out =
        TREADLE_OR_RETURN(place ? ctx.allocateOutput(0, dtypeOf<T>, place->outDims()) : nullptr);
    Maxima<T> maxima(*place, ctx.input(0).data<T>(), ctx.input(1).data<T>());
    std::copy(maxima.values.begin(), maxima.values.end(), out->data<T>());
  }
};

template <typename T, int wanted> void runGradient(OpContext &ctx) {
  auto place = TREADLE_OR_RETURN(placeDilation(ctx));
  const Tensor &gradient = ctx.input(2);
  if (!std::ranges::equal(gradient.dims(), place.outDims()))
    return ctx.fail(invalidArgument("out_backprop has shape ", dimsText(gradient.dims()),
                                    ", but the dilation's result has ", dimsText(place.outDims())));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, ctx.input(wanted).dims()));
  std::fill_n(out->data<T>(), out->count(), T(0));
  Maxima<T> maxima(place, ctx.input(0).data<T>(), ctx.input(1).data<T>());
  const std::vector<int64_t> &at = wanted == 0 ? maxima.in : maxima.filter;
  for (size_t o = 0; o < at.size(); ++o)
    if (at[o] >= 0) {
      T &sum = out->data<T>()[at[o]];
      sum = wrappingSum(sum, gradient.data<T>()[o]);
    }
}
template <typename T> struct DilationInputGradient {
  static void run(OpContext &ctx) { runGradient<T, 0>(ctx); }
};
template <typename T> struct DilationFilterGradient {
  static void run(OpContext &ctx) { runGradient<T, 1>(ctx); }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindDilation(const BindContext &node) {
  WindowAttrs attrs = TREADLE_TRY(WindowAttrs::of(node, 2));
  auto rates = node.attrs.getOr("rates", std::vector<int64_t>());
  int64_t channelRate = TREADLE_TRY(attrs.split("rates", rates, attrs.dilations));
  if (attrs.channelStride != 1 || channelRate != 1)
    return Unexpected(unimplemented("strides and rates along the channels are not supported"));
  return withState(bindByType<Kernel, RealTypes>(node), attrs);
}

const KernelEntry dilationTable[] = {
    {"Dilation2D", bindDilation<Dilation>},
    {"Dilation2DBackpropInput", bindDilation<DilationInputGradient>},
    {"Dilation2DBackpropFilter", bindDilation<DilationFilterGradient>},
};

} // namespace

std::span<const KernelEntry> dilationKernels() { return dilationTable; }

} // namespace treadle
