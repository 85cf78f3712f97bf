// Pooling by a non-integer ratio: windows of two sizes in a random order (B. Graham, "Fractional
// max-pooling", 2014), and the gradients.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Conversion.h"
#include "treadle/kernels/elementwise/Wrapping.h"
#include "treadle/kernels/images/Image.h"
#include "treadle/kernels/random/RandomDraws.h"
#include "treadle/kernels/random/RandomStream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace treadle {
namespace {

struct Options {
  std::vector<float> ratios; // one per dimension
  bool isPseudoRandom, overlaps;
  bool isFixed; // the same windows in every run
  NodeStream stream;
};

using Sequence = std::vector<int64_t>; // where windows begin, and the end of the last one

// --- windows -------------------------------------------------------------------------------------

// Returns windows that begin at multiples of the ratio, shifted by one random number.
Sequence spacedSizes(int64_t in, int64_t out, RandomDraws &draws) {
  double ratio = static_cast<double>(in) / static_cast<double>(out);
  int64_t quotient = in / out;
  auto least = static_cast<double>(quotient);
  double outCount = static_cast<double>(out), inCount = static_cast<double>(in);
  double greatest =
      std::min((least + 2) / ratio - 1, (inCount + 1 - least) / ratio - (outCount - 1));
  double shift = draws.longReal() * greatest;
  Sequence sizes;
  int64_t before = 1;
  for (int64_t i = 1; i <= out; ++i) {
    int64_t next = i == out
                       ? in + 1
                       : static_cast<int64_t>(std::ceil(ratio * (static_cast<double>(i) + shift)));
    sizes.push_back(next - before);
    before = next;
  }
  return sizes;
}

Sequence shuffledSizes(int64_t in, int64_t out, RandomDraws &draws) {
  Sequence sizes(static_cast<size_t>(out), in / out);
  std::for_each_n(sizes.begin(), in % out, [](int64_t &size) { ++size; });
  for (size_t i = 0; i + 1 < sizes.size(); ++i)
    std::swap(sizes[i], sizes[i + draws.bits() % (sizes.size() - i)]);
  return sizes;
}

Sequence drawSequence(int64_t in, int64_t out, const Options &options, const Philox &stream) {
  RandomDraws draws(stream);
  Sequence sizes =
      options.isPseudoRandom ? spacedSizes(in, out, draws) : shuffledSizes(in, out, draws);
  Sequence starts = {0};
  for (int64_t size : sizes)
    starts.push_back(starts.back() + size);
  return starts;
}

uint64_t blocksFor(int64_t out, const Options &options) {
  return RandomDraws::blocksFor(options.isPseudoRandom ? 2 : static_cast<uint64_t>(out));
}

/// The windows of a pooling op: window `i` of an axis is [starts[i], end(i)).
struct Windows {
  Sequence rows, columns;
  ImageShape in, out;
  bool overlaps;

  static int64_t end(const Sequence &starts, int64_t i, int64_t size, bool overlaps) {
    return std::min(starts[static_cast<size_t>(i) + 1] + overlaps, size);
  }
  /// Calls `visit(inPixel, outPixel, pixels in the window)`. Pixels are given by the offset of
  /// their first channel.
  template <typename Visit> void forEach(Visit &&visit) const {
    for (int64_t n = 0; n < out.batch; ++n)
      for (int64_t r = 0; r < out.height; ++r)
        for (int64_t c = 0; c < out.width; ++c) {
          int64_t top = rows[static_cast<size_t>(r)], left = columns[static_cast<size_t>(c)];
          int64_t bottom = end(rows, r, in.height, overlaps);
          int64_t right = end(columns, c, in.width, overlaps);
          for (int64_t y = top; y < bottom; ++y)
            for (int64_t x = left; x < right; ++x)
              visit(in.at(n, y, x), out.at(n, r, c), (bottom - top) * (right - left));
        }
  }
};

// --- forward -------------------------------------------------------------------------------------

std::optional<Windows> drawWindows(OpContext &ctx) {
  const auto &options = ctx.state<Options>();
  auto in = readImageShape(ctx, 0, "value");
  if (!in)
    return std::nullopt;
  std::array<int64_t, 4> dims = in->dims();
  for (size_t i = 0; i < 4; ++i) {
    if (static_cast<float>(dims[i]) < options.ratios[i]) {
      ctx.fail(invalidArgument("dimension ", i, " of value is ", dims[i],
                               ", less than its pooling ratio of ", options.ratios[i]));
      return std::nullopt;
    }
    dims[i] = static_cast<int64_t>(std::floor(static_cast<float>(dims[i]) / options.ratios[i]));
  }
  auto reserve = [&](int64_t size) {
    return options.stream.reserve(ctx, options.isFixed ? 0 : blocksFor(size, options));
  };
  Windows windows{{}, {}, *in, {dims[0], dims[1], dims[2], dims[3]}, options.overlaps};
  Philox stream = reserve(dims[1]);
  windows.rows = drawSequence(in->height, dims[1], options, stream);
  if (options.isFixed)
    stream.skip(blocksFor(dims[1], options));
  else
    stream = reserve(dims[2]);
  windows.columns = drawSequence(in->width, dims[2], options, stream);
  return windows;
}

template <typename T> struct MaxPool {
  static void pool(const Windows &w, const T *in, T *out) {
    std::fill_n(out, w.out.count(), std::numeric_limits<T>::lowest());
    w.forEach([&](int64_t from, int64_t to, int64_t) {
      for (int64_t d = 0; d < w.in.channels; ++d)
        out[to + d] = std::max(out[to + d], in[from + d]);
    });
  }
};

template <typename T> struct AvgPool {
  static void pool(const Windows &w, const T *in, T *out) {
    std::fill_n(out, w.out.count(), T(0));
    std::vector<int64_t> counts(static_cast<size_t>(w.out.count()));
    w.forEach([&](int64_t from, int64_t to, int64_t covered) {
      for (int64_t d = 0; d < w.in.channels; ++d) {
        out[to + d] = wrappingSum(out[to + d], in[from + d]);
        counts[static_cast<size_t>(to + d)] = covered;
      }
    });
    for (size_t i = 0; i < counts.size(); ++i)
      out[i] /= static_cast<T>(counts[i]);
  }
};

template <template <typename> class Pool> struct ForwardOf {
  template <typename T> struct Run {
    static void run(OpContext &ctx) {
      auto windows = TREADLE_OR_RETURN(drawWindows(ctx));
      Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, windows.out.dims()));
      Pool<T>::pool(windows, ctx.input(0).data<T>(), out->data<T>());
      ctx.setOutput(1, Tensor::vector<int64_t>(DType::Int64, windows.rows));
      ctx.setOutput(2, Tensor::vector<int64_t>(DType::Int64, windows.columns));
    }
  };
};

template <template <typename> class Pool> Expected<BoundKernel> bindPool(const BindContext &node) {
  Options options{node.attrs.getOr("pooling_ratio", std::vector<float>()),
                  node.attrs.getOr("pseudo_random", false), node.attrs.getOr("overlapping", false),
                  node.attrs.getOr("deterministic", false), NodeStream::of(node)};
  auto isRatio = [](float ratio) { return ratio >= 1; }; // false for NaN
  if (options.ratios.size() != 4 || !std::ranges::all_of(options.ratios, isRatio))
    return Unexpected(
        invalidArgument("attribute 'pooling_ratio' must be four numbers of at least 1"));
  if (options.ratios[0] != 1 || options.ratios[3] != 1)
    return Unexpected(
        unimplemented("fractional pooling along the batch or the channels is not supported"));
  bool hasSeeds = node.attrs.getOr<int64_t>("seed", 0) || node.attrs.getOr<int64_t>("seed2", 0);
  if (hasSeeds && !options.isFixed)
    return Unexpected(invalidArgument("attributes 'seed' and 'seed2' must be 0 unless "
                                      "'deterministic' is set"));
  return withState(
      bindByType<ForwardOf<Pool>::template Run, TypeList<float, double, int32_t, int64_t>>(node),
      std::move(options));
}

// --- gradients -----------------------------------------------------------------------------------

std::optional<ImageShape> shapeOf(Dims dims) {
  if (dims.size() != 4 || !countElements(dims))
    return std::nullopt;
  return ImageShape{dims[0], dims[1], dims[2], dims[3]};
}

/// Reads the windows from inputs `first` and `first + 1`, for an input and a result of these
/// shapes.
std::optional<Windows> readWindows(OpContext &ctx, int first, Dims inDims, Dims outDims) {
  auto in = shapeOf(inDims), out = shapeOf(outDims);
  bool isRight = in && out && in->batch == out->batch && in->channels == out->channels;
  Windows windows;
  auto read = [&](int i, int64_t from, int64_t to, Sequence &starts) {
    const Tensor &t = ctx.input(i);
    starts.assign(t.data<int64_t>(), t.data<int64_t>() + t.count());
    isRight = isRight && t.rank() == 1 && t.count() == to + 1 && starts[0] >= 0 &&
              starts.back() <= from && std::ranges::is_sorted(starts) &&
              std::ranges::adjacent_find(starts) == starts.end();
  };
  if (isRight) {
    read(first, in->height, out->height, windows.rows);
    read(first + 1, in->width, out->width, windows.columns);
  }
  if (!isRight) {
    ctx.fail(invalidArgument("the pooling sequences do not match an input of shape ",
                             dimsText(inDims), " and a result of shape ", dimsText(outDims)));
    return std::nullopt;
  }
  windows.in = *in;
  windows.out = *out;
  windows.overlaps = ctx.state<bool>();
  return windows;
}

// Inputs: the input, the result, its gradient, the two sequences.
template <typename T> struct MaxPoolGrad {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), slopes = ctx.input(2);
    if (!std::ranges::equal(ctx.input(1).dims(), slopes.dims()))
      return ctx.fail(
          invalidArgument("orig_output and out_backprop must have the same shape, but have ",
                          dimsText(ctx.input(1).dims()), " and ", dimsText(slopes.dims())));
    auto windows = readWindows(ctx, 3, in.dims(), slopes.dims());
    Tensor *out =
        TREADLE_OR_RETURN(windows ? ctx.allocateOutput(0, dtypeOf<T>, in.dims()) : nullptr);
    std::vector<int64_t> best(static_cast<size_t>(slopes.count()), -1);
    windows->forEach([&](int64_t from, int64_t to, int64_t) {
      for (int64_t d = 0; d < windows->in.channels; ++d) {
        int64_t &at = best[static_cast<size_t>(to + d)];
        if (at < 0 || in.data<T>()[at] < in.data<T>()[from + d])
          at = from + d;
      }
    });
    std::fill_n(out->data<T>(), out->count(), T(0));
    for (size_t o = 0; o < best.size(); ++o) {
      T &sum = out->data<T>()[best[o]];
      sum = wrappingSum(sum, slopes.data<T>()[o]);
    }
  }
};

// Inputs: the shape of the input, the gradient of the result, the two sequences.
template <typename T> struct AvgPoolGrad {
  static void run(OpContext &ctx) {
    const Tensor &shape = ctx.input(0), slopes = ctx.input(1);
    if (shape.rank() != 1 || shape.count() != 4)
      return ctx.fail(invalidArgument("orig_input_tensor_shape must be a vector of 4 elements, but "
                                      "it is ",
                                      tensorTypeText(shape)));
    DimVector dims = readIndices(shape);
    auto windows = readWindows(ctx, 2, dims, slopes.dims());
    Tensor *out = TREADLE_OR_RETURN(windows ? ctx.allocateOutput(0, dtypeOf<T>, dims) : nullptr);
    std::vector<double> sums(static_cast<size_t>(out->count()));
    windows->forEach([&](int64_t from, int64_t to, int64_t covered) {
      for (int64_t d = 0; d < windows->in.channels; ++d)
        sums[static_cast<size_t>(from + d)] +=
            static_cast<double>(slopes.data<T>()[to + d]) / static_cast<double>(covered);
    });
    std::ranges::transform(sums, out->data<T>(), [](double v) { return convert<T>(v); });
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindGrad(const BindContext &node) {
  return withState(
      bindForType<Kernel, TypeList<float, double, int32_t, int64_t>>(node, node.outputTypes[0]),
      node.attrs.getOr("overlapping", false));
}

const KernelEntry fractionalPoolingTable[] = {
    {"FractionalMaxPool", bindPool<MaxPool>},
    {"FractionalAvgPool", bindPool<AvgPool>},
    {"FractionalMaxPoolGrad", bindGrad<MaxPoolGrad>},
    {"FractionalAvgPoolGrad", bindGrad<AvgPoolGrad>},
};

} // namespace

std::span<const KernelEntry> fractionalPoolingKernels() { return fractionalPoolingTable; }

} // namespace treadle
