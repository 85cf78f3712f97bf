// Max and average pooling, and their gradients.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/RunningTotal.h"
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Wrapping.h"

#include <limits>
#include <vector>

namespace treadle {
namespace {

struct PoolState {
  WindowAttrs attrs;
  Volume window = {1, 1, 1};
  int64_t channelWindow = 1;
  bool hasSizeInputs = false; // the last two inputs are the window and the strides
  bool includesBatch = false; // argmax indices count through the whole batch
  DType indexType = DType::Int64;
};

/// The geometry of a pooling: the input, the result, and the window between them.
struct Pool {
  ImageDims in, out;
  Window window;
  int64_t channelWindow;

  int64_t inSize() const { return in.positions() * in.channels; }
  int64_t outSize() const { return out.positions() * out.channels; }
};

// Reads the window and the strides from the inputs of the op.
bool readSizes(OpContext &ctx, PoolState &s) {
  int n = ctx.numInputs();
  DimVector size = readIndices(ctx.input(n - 2)), strides = readIndices(ctx.input(n - 1));
  auto channelWindow = ctx.check(s.attrs.split("ksize", size, s.window));
  if (!channelWindow)
    return false;
  auto channelStride = ctx.check(s.attrs.split("strides", strides, s.attrs.strides));
  if (!channelStride)
    return false;
  s.channelWindow = *channelWindow;
  s.attrs.channelStride = *channelStride;
  return true;
}

// Explicit padding as large as the window would make windows that cover nothing.
bool checkPadding(OpContext &ctx, const PoolState &s) {
  for (int d = 0; d < 3; ++d) {
    int64_t pad = std::max(s.attrs.padBefore[d], s.attrs.padAfter[d]),
            reach = (s.window[d] - 1) * s.attrs.dilations[d] + 1;
    if (pad && pad >= reach) {
      ctx.fail(invalidArgument("a padding of ", pad, " must be smaller than the window's ", reach));
      return false;
    }
  }
  return true;
}

bool checkChannelWindow(OpContext &ctx, const PoolState &s, const Pool &pool) {
  int64_t window = s.channelWindow;
  if (window == 1 && s.attrs.channelStride == 1)
    return true;
  if (s.window != Volume{1, 1, 1})
    ctx.fail(unimplemented("a window over both the channels and the image is not supported"));
  else if (window != s.attrs.channelStride || pool.in.channels % window)
    ctx.fail(unimplemented("a window of ", window, " along ", pool.in.channels,
                           " channels with stride ", s.attrs.channelStride,
                           "; they must be equal and divide the channels"));
  return !ctx.hasFailed();
}

bool findPool(OpContext &ctx, PoolState s, Dims in, Pool &pool) {
  if (s.hasSizeInputs && !readSizes(ctx, s))
    return false;
  pool.in = {.spatial = s.attrs.spatial, .channelsFirst = s.attrs.channelsFirst};
  if (!pool.in.read(in)) {
    ctx.fail(invalidArgument("the input must have rank ", s.attrs.spatial + 2, ", but has shape ",
                             dimsText(in)));
    return false;
  }
  if (!checkPadding(ctx, s) || !checkChannelWindow(ctx, s, pool) ||
      !placeWindow(ctx, s.attrs, pool.in.size, s.window, pool.window))
    return false;
  pool.channelWindow = s.channelWindow;
  pool.out = pool.in;
  pool.out.size = pool.window.out;
  pool.out.channels = pool.in.channels / s.channelWindow;
  return true;
}

// Allocates a channels-last tensor for a pool's input or result.
std::optional<Tensor> makeImage(OpContext &ctx, DType dtype, ImageDims dims) {
  dims.channelsFirst = false;
  return ctx.check(Tensor::make(dtype, dims.tensorDims()));
}

// Calls `visit(inElement, outElement, position)` for each element of each window of image `n`.
template <typename Visit> void forEachElement(const Pool &pool, int64_t n, Visit &&visit) {
  int64_t channels = pool.in.channels, outChannels = pool.out.channels;
  forEachTap(pool.window, [&](int64_t o, int64_t i, int64_t) {
    int64_t in = n * pool.inSize() + i * channels, out = n * pool.outSize() + o * outChannels;
    if (pool.channelWindow == 1)
      for (int64_t c = 0; c < channels; ++c)
        visit(in + c, out + c, o);
    else
      for (int64_t c = 0; c < channels; ++c)
        visit(in + c, out + c / pool.channelWindow, o);
  });
}

// Returns the number of input elements that each window covers.
std::vector<int32_t> coveredElements(const Pool &pool) {
  std::vector<int32_t> covered(static_cast<size_t>(pool.out.positions()));
  forEachTap(pool.window, [&](int64_t o, int64_t, int64_t) {
    covered[static_cast<size_t>(o)] += static_cast<int32_t>(pool.channelWindow);
  });
  return covered;
}

// --- forward -------------------------------------------------------------------------------------

template <typename T> constexpr T lowestOf() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}

// Calls `compute(line, in, out)` for each line of the result, on the run's threads: the pool that
// computes the line, and the offsets of its image in the input and of the line in the result.
template <typename Compute>
void forEachLine(OpContext &ctx, const Pool &pool, const Compute &compute) {
  const Window &w = pool.window;
  int64_t perImage = w.out[0] * w.out[1], lineSize = w.out[2] * pool.out.channels;
  double cost = 0.3 * static_cast<double>(w.out[2] * pool.in.channels * w.size[0] * w.size[1] *
                                          std::min(w.size[2], w.in[2]));
  ctx.parallelFor(pool.in.batch * perImage, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Pool line = pool;
      line.window.out[0] = line.window.out[1] = 1;
      line.window.padBefore[0] -= i % perImage / w.out[1] * w.stride[0];
      line.window.padBefore[1] -= i % w.out[1] * w.stride[1];
      compute(line, i / perImage * pool.inSize(), i * lineSize);
    }
  });
}

/// The treatment of NaN in maxima: TensorFlow ignores NaN, PyTorch takes the last one.
enum class NaNPolicy : uint8_t { Skipped, Taken };

template <NaNPolicy nanPolicy, typename T> bool replacesMaximum(T x, T best) {
  if constexpr (nanPolicy == NaNPolicy::Taken && isRealFloat<T>)
    return (x > best) | (x != x);
  else
    return x > best;
}

template <NaNPolicy nanPolicy> struct MaxPoolOf {
  template <typename T> struct Kernel {
    static void compute(OpContext &ctx, const Pool &pool, const T *x, T *out) {
      forEachLine(ctx, pool, [&](const Pool &line, int64_t in, int64_t first) {
        T *to = out + first;
        std::fill_n(to, line.window.out[2] * line.out.channels, lowestOf<T>());
        forEachElement(line, 0, [&](int64_t i, int64_t o, int64_t) {
          to[o] = replacesMaximum<nanPolicy>(x[in + i], to[o]) ? x[in + i] : to[o];
        });
      });
    }
  };
};
template <typename T> using MaxPoolKernel = MaxPoolOf<NaNPolicy::Skipped>::Kernel<T>;
template <typename T> using MaxPoolOfNaNKernel = MaxPoolOf<NaNPolicy::Taken>::Kernel<T>;

/// Few numbers are added without a compensated total.
template <typename T> struct PlainTotal {
  void add(T x) { sum += x; }
  T value() const { return sum; }

  T sum = 0;
};

template <typename T> struct AvgPoolKernel {
  static void compute(OpContext &ctx, const Pool &pool, const T *x, T *out) {
    constexpr int64_t few = 256;
    const Volume &size = pool.window.size;
    if (size[0] * size[1] * size[2] * pool.channelWindow <= few)
      computeBy<PlainTotal<Computed<T>>>(ctx, pool, x, out);
    else
      computeBy<RunningTotal<Computed<T>>>(ctx, pool, x, out);
  }

  template <typename Total>
  static void computeBy(OpContext &ctx, const Pool &pool, const T *x, T *out) {
    forEachLine(ctx, pool, [&](const Pool &line, int64_t in, int64_t first) {
      int64_t columns = line.window.out[2], channels = line.out.channels;
      std::vector<Total> sums(static_cast<size_t>(columns * channels));
      std::vector<int32_t> covered(static_cast<size_t>(columns));
      forEachElement(line, 0, [&](int64_t i, int64_t o, int64_t) {
        sums[static_cast<size_t>(o)].add(Computed<T>(x[in + i]));
      });
      forEachTap(line.window, [&](int64_t o, int64_t, int64_t) {
        covered[static_cast<size_t>(o)] += static_cast<int32_t>(line.channelWindow);
      });
      for (int64_t o = 0; o < columns * channels; ++o)
        out[first + o] = T(sums[static_cast<size_t>(o)].value() /
                           static_cast<Computed<T>>(covered[static_cast<size_t>(o / channels)]));
    });
  }
};

template <template <typename> class Kernel> struct ForwardOf {
  template <typename T> struct Run {
    static void run(OpContext &ctx) {
      const Tensor in = ctx.input(0);
      Pool pool;
      if (!findPool(ctx, ctx.state<PoolState>(), in.dims(), pool))
        return;
      auto x = withChannelsLast(ctx, in, pool.in);
      auto out = makeImage(ctx, in.dtype(), pool.out);
      if (!x || !out)
        return;
      if (out->count())
        Kernel<T>::compute(ctx, pool, x->data<T>(), out->data<T>());
      setImageOutput(ctx, 0, std::move(*out), pool.out);
    }
  };
};

// Returns the position of the maximum of each window of a line within the image; the first of equal
// ones.
template <typename Place, NaNPolicy nanPolicy, typename T>
std::vector<Place> findMaximaOfLine(const Pool &line, const T *x) {
  int64_t channels = line.in.channels;
  size_t count = static_cast<size_t>(line.window.out[2] * channels);
  std::vector<T> most(count);
  std::vector<Place> at(count, -1);
  forEachTap(line.window, [&](int64_t o, int64_t i, int64_t) {
    const T *from = x + i * channels;
    T *best = most.data() + o * channels;
    Place *where = at.data() + o * channels;
    for (int64_t c = 0; c < channels; ++c) {
      bool isMore = replacesMaximum<nanPolicy>(from[c], best[c]) | (where[c] < 0);
      best[c] = isMore ? from[c] : best[c];
      where[c] = isMore ? static_cast<Place>(i) : where[c];
    }
  });
  return at;
}

// Calls `take(out, image, in)` for each element of the result, from several threads: the offset of
// its image in the input, and the offset of its maximum within the image, the first of equal ones.
template <typename Place, NaNPolicy nanPolicy, typename T, typename Take>
void forEachMaximumIn(OpContext &ctx, const Pool &pool, const T *x, const Take &take) {
  forEachLine(ctx, pool, [&](const Pool &line, int64_t image, int64_t first) {
    std::vector<Place> at = findMaximaOfLine<Place, nanPolicy>(line, x + image);
    for (int64_t o = 0, channels = line.out.channels; o < line.window.out[2]; ++o)
      for (int64_t c = 0; c < channels; ++c) {
        int64_t position = at[static_cast<size_t>(o * channels + c)];
        take(first + o * channels + c, image, position * channels + c);
      }
  });
}

// 32-bit positions if possible, since vectors hold as many of them as floats.
template <NaNPolicy nanPolicy = NaNPolicy::Skipped, typename T, typename Take>
void forEachMaximum(OpContext &ctx, const Pool &pool, const T *x, const Take &take) {
  if (pool.in.positions() <= std::numeric_limits<int32_t>::max())
    forEachMaximumIn<int32_t, nanPolicy>(ctx, pool, x, take);
  else
    forEachMaximumIn<int64_t, nanPolicy>(ctx, pool, x, take);
}

// Returns the offsets of the maxima in the whole input; the first of equal ones.
template <typename T>
std::vector<int64_t> findMaxima(OpContext &ctx, const Pool &pool, const T *x) {
  std::vector<int64_t> at(static_cast<size_t>(pool.out.batch * pool.outSize()), -1);
  auto place = [&](int64_t o) -> int64_t & { return at[static_cast<size_t>(o)]; };
  if (pool.channelWindow == 1)
    forEachMaximum(ctx, pool, x,
                   [&](int64_t o, int64_t image, int64_t i) { place(o) = i < 0 ? -1 : image + i; });
  else
    for (int64_t n = 0; n < pool.in.batch; ++n)
      forEachElement(pool, n, [&](int64_t i, int64_t o, int64_t) {
        if (place(o) < 0 || x[i] > x[place(o)])
          place(o) = i;
      });
  return at;
}

// This op pools each channel separately, whatever its window says.
PoolState withoutChannelWindow(PoolState s) {
  s.channelWindow = s.attrs.channelStride = 1;
  return s;
}

template <typename T> struct MaxPoolWithArgmaxKernel {
  static void run(OpContext &ctx) {
    const PoolState &s = ctx.state<PoolState>();
    const Tensor in = ctx.input(0);
    Pool pool;
    if (!findPool(ctx, withoutChannelWindow(s), in.dims(), pool))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), pool.out.tensorDims());
    Tensor *where = ctx.allocateOutput(1, s.indexType, pool.out.tensorDims());
    if (!out || !where || !out->count())
      return;
    bool isWide = s.indexType == DType::Int64;
    const T *x = in.data<T>();
    T *values = out->data<T>();
    forEachMaximum(ctx, pool, x, [&](int64_t o, int64_t image, int64_t i) {
      values[o] = x[image + i];
      int64_t place = s.includesBatch ? image + i : i;
      if (isWide)
        where->data<int64_t>()[o] = place;
      else
        where->data<int32_t>()[o] = static_cast<int32_t>(place);
    });
  }
};

// Positions count within the image, without channels.
template <typename T> struct MaxPoolWithIndicesKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    Pool pool;
    if (!findPool(ctx, ctx.state<PoolState>(), in.dims(), pool))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), pool.out.tensorDims());
    Tensor *where = ctx.allocateOutput(1, DType::Int64, pool.out.tensorDims());
    if (!out || !where || !out->count())
      return;
    const T *x = in.data<T>();
    T *values = out->data<T>();
    int64_t *places = where->data<int64_t>(), channels = pool.in.channels;
    forEachMaximum<NaNPolicy::Taken>(ctx, pool, x, [&](int64_t o, int64_t image, int64_t i) {
      values[o] = x[image + i];
      places[o] = i / channels;
    });
  }
};

// --- gradients -----------------------------------------------------------------------------------

bool checkSame(OpContext &ctx, const char *what, const Tensor &t, const ImageDims &expected) {
  if (std::ranges::equal(t.dims(), expected.tensorDims()))
    return true;
  ctx.fail(invalidArgument(what, " has shape ", dimsText(t.dims()),
                           ", but the result of the pooling has ",
                           dimsText(expected.tensorDims())));
  return false;
}

// Inputs: the input, the result, the gradient of the result.
template <typename T> struct MaxPoolGradKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), gradient = ctx.input(2);
    Pool pool;
    if (!findPool(ctx, ctx.state<PoolState>(), in.dims(), pool) ||
        !checkSame(ctx, "the result", ctx.input(1), pool.out) ||
        !checkSame(ctx, "the gradient", gradient, pool.out))
      return;
    auto x = withChannelsLast(ctx, in, pool.in), g = withChannelsLast(ctx, gradient, pool.out);
    auto out = makeImage(ctx, in.dtype(), pool.in);
    if (!x || !g || !out)
      return;
    std::vector<Computed<T>> sums(static_cast<size_t>(out->count()));
    std::vector<int64_t> at = findMaxima(ctx, pool, x->template data<T>());
    for (size_t o = 0; o < at.size(); ++o) {
      auto &sum = sums[static_cast<size_t>(at[o])];
      sum = wrappingSum(sum, Computed<T>(g->template data<T>()[o]));
    }
    std::transform(sums.begin(), sums.end(), out->template data<T>(), [](auto v) { return T(v); });
    setImageOutput(ctx, 0, std::move(*out), pool.in);
  }
};

// Inputs: the input, the result, the second-order gradient, of which the values at the maxima are
// taken.
template <typename T> struct MaxPoolGradGradKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), gradient = ctx.input(2);
    Pool pool;
    if (!findPool(ctx, ctx.state<PoolState>(), in.dims(), pool) ||
        !checkSame(ctx, "the result", ctx.input(1), pool.out) ||
        !checkSame(ctx, "the gradient", gradient, pool.in))
      return;
    auto x = withChannelsLast(ctx, in, pool.in), g = withChannelsLast(ctx, gradient, pool.in);
    auto out = makeImage(ctx, in.dtype(), pool.out);
    if (!x || !g || !out)
      return;
    std::vector<int64_t> at = findMaxima(ctx, pool, x->template data<T>());
    std::ranges::transform(at, out->template data<T>(),
                           [&](int64_t i) { return i < 0 ? T(0) : g->template data<T>()[i]; });
    setImageOutput(ctx, 0, std::move(*out), pool.out);
  }
};

/// Returns the offset in the input that argmax element `o` refers to; nullopt, with ctx failed, if
/// it is out of range.
std::optional<int64_t> argmaxOffset(OpContext &ctx, const PoolState &s, const Pool &pool,
                                    const Tensor &where, int64_t o) {
  int64_t first = s.includesBatch ? 0 : o / pool.outSize() * pool.inSize();
  int64_t index = indexAt(where, o), count = ctx.input(0).count();
  if (index >= 0 && index < count - first)
    return first + index;
  ctx.fail(invalidArgument("argmax element ", o, " is ", index, ", outside an input of shape ",
                           dimsText(ctx.input(0).dims())));
  return std::nullopt;
}

// Inputs: the input, the gradient of the result, argmax.
template <typename T> struct MaxPoolGradWithArgmaxKernel {
  static void run(OpContext &ctx) {
    const PoolState &s = ctx.state<PoolState>();
    const Tensor in = ctx.input(0), gradient = ctx.input(1), where = ctx.input(2);
    Pool pool;
    if (!findPool(ctx, withoutChannelWindow(s), in.dims(), pool) ||
        !checkSame(ctx, "the gradient", gradient, pool.out) ||
        !checkSame(ctx, "argmax", where, pool.out))
      return;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
    std::fill_n(out->data<T>(), out->count(), T(0));
    for (int64_t o = 0; o < where.count(); ++o) {
      int64_t at = TREADLE_OR_RETURN(argmaxOffset(ctx, s, pool, where, o));
      T &sum = out->data<T>()[at];
      sum = wrappingSum(sum, gradient.data<T>()[o]);
    }
  }
};

// Inputs: the input, the second-order gradient, argmax, which selects values of the gradient.
template <typename T> struct MaxPoolGradGradWithArgmaxKernel {
  static void run(OpContext &ctx) {
    const PoolState &s = ctx.state<PoolState>();
    const Tensor in = ctx.input(0), gradient = ctx.input(1), where = ctx.input(2);
    Pool pool;
    if (!findPool(ctx, withoutChannelWindow(s), in.dims(), pool) ||
        !checkSame(ctx, "the gradient", gradient, pool.in) ||
        !checkSame(ctx, "argmax", where, pool.out))
      return;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), where.dims()));
    for (int64_t o = 0; o < where.count(); ++o) {
      int64_t at = TREADLE_OR_RETURN(argmaxOffset(ctx, s, pool, where, o));
      out->data<T>()[o] = gradient.data<T>()[at];
    }
  }
};

// Inputs: the shape of the input, the gradient of the result.
template <typename T> struct AvgPoolGradKernel {
  static void run(OpContext &ctx) {
    const Tensor gradient = ctx.input(1);
    if (ctx.input(0).rank() != 1)
      return ctx.fail(invalidArgument("orig_input_shape must be a vector, but has shape ",
                                      dimsText(ctx.input(0).dims())));
    Pool pool;
    if (!findPool(ctx, ctx.state<PoolState>(), readIndices(ctx.input(0)), pool) ||
        !checkSame(ctx, "the gradient", gradient, pool.out))
      return;
    auto g = withChannelsLast(ctx, gradient, pool.out);
    auto out = makeImage(ctx, gradient.dtype(), pool.in);
    if (!g || !out)
      return;
    std::vector<Computed<T>> sums(static_cast<size_t>(out->count()));
    std::vector<int32_t> covered = coveredElements(pool);
    for (int64_t n = 0; n < pool.in.batch; ++n)
      forEachElement(pool, n, [&](int64_t i, int64_t o, int64_t position) {
        sums[static_cast<size_t>(i)] +=
            Computed<T>(g->template data<T>()[o]) /
            static_cast<Computed<T>>(covered[static_cast<size_t>(position)]);
      });
    std::transform(sums.begin(), sums.end(), out->template data<T>(), [](auto v) { return T(v); });
    setImageOutput(ctx, 0, std::move(*out), pool.in);
  }
};

// --- tables --------------------------------------------------------------------------------------

template <template <typename> class Kernel, typename Types, int spatial>
Expected<BoundKernel> bindPool(const BindContext &node) {
  WindowAttrs attrs = TREADLE_TRY(WindowAttrs::of(node, spatial));
  PoolState s{.attrs = attrs};
  s.includesBatch = node.attrs.getOr<bool>("include_batch_in_index", false);
  auto size = node.attrs.getOr("ksize", std::vector<int64_t>());
  s.hasSizeInputs = node.op.ends_with("V2");
  if (!s.hasSizeInputs) {
    int64_t channels = TREADLE_TRY(attrs.split("ksize", size, s.window));
    s.channelWindow = channels;
  }
  if (node.outputTypes.size() > 1)
    s.indexType = node.outputTypes[1];
  return withState(bindForType<Kernel, Types>(node, node.outputTypes[0]), s);
}

/// Binds for images or for volumes, depending on the length of `ksize`.
template <template <typename> class Kernel>
Expected<BoundKernel> bindAnyPool(const BindContext &node) {
  bool ofVolumes = node.attrs.getOr("ksize", std::vector<int64_t>()).size() == 5;
  return ofVolumes ? bindPool<Kernel, RealTypes, 3>(node) : bindPool<Kernel, RealTypes, 2>(node);
}

const KernelEntry poolingTable[] = {
    {"_MaxPool", bindAnyPool<ForwardOf<MaxPoolOfNaNKernel>::Run>},
    {"_MaxPoolWithPlaces", bindAnyPool<MaxPoolWithIndicesKernel>},
    {"MaxPool", bindPool<ForwardOf<MaxPoolKernel>::Run, RealTypes, 2>},
    {"MaxPoolV2", bindPool<ForwardOf<MaxPoolKernel>::Run, RealTypes, 2>},
    {"MaxPool3D", bindPool<ForwardOf<MaxPoolKernel>::Run, FloatTypes, 3>},
    {"AvgPool", bindPool<ForwardOf<AvgPoolKernel>::Run, FloatTypes, 2>},
    {"AvgPool3D", bindPool<ForwardOf<AvgPoolKernel>::Run, FloatTypes, 3>},
    {"MaxPoolWithArgmax", bindPool<MaxPoolWithArgmaxKernel, RealTypes, 2>},
    {"MaxPoolGradWithArgmax", bindPool<MaxPoolGradWithArgmaxKernel, RealTypes, 2>},
    {"MaxPoolGradGradWithArgmax", bindPool<MaxPoolGradGradWithArgmaxKernel, RealTypes, 2>},
    {"MaxPoolGrad", bindPool<MaxPoolGradKernel, RealTypes, 2>},
    {"MaxPoolGradV2", bindPool<MaxPoolGradKernel, RealTypes, 2>},
    {"MaxPoolGradGrad", bindPool<MaxPoolGradGradKernel, RealTypes, 2>},
    {"MaxPoolGradGradV2", bindPool<MaxPoolGradGradKernel, RealTypes, 2>},
    {"MaxPool3DGradGrad", bindPool<MaxPoolGradGradKernel, FloatTypes, 3>},
    {"MaxPool3DGrad", bindPool<MaxPoolGradKernel, FloatTypes, 3>},
    {"AvgPoolGrad", bindPool<AvgPoolGradKernel, FloatTypes, 2>},
    {"AvgPool3DGrad", bindPool<AvgPoolGradKernel, FloatTypes, 3>},
};

} // namespace

std::span<const KernelEntry> poolingKernels() { return poolingTable; }

} // namespace treadle
