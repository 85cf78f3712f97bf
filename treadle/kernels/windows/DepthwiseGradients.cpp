// The gradient of a depthwise convolution's input is a convolution with the reversed filter if
// strides are 1; otherwise each position gathers from the windows that contain it. The gradient of
// the filter is a sum over positions for each window element; some elements of a window line are
// summed in registers at a time.
#include "treadle/kernels/windows/Depthwise.h"

#include <algorithm>
#include <cstring>

// Contraction, as in every library's convolutions: one rounding per multiply-add.
#pragma clang fp contract(fast)

namespace treadle {
namespace {

/// Number of elements in one register of 64 bytes, or in several smaller ones.
template <typename T> constexpr int64_t registerLanes = 64 / sizeof(T);

template <typename T, int64_t lanes> struct Lanes {
  typedef T Type __attribute__((vector_size(lanes * sizeof(T))));
  static Type load(const T *from) {
    Type value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
};

/// Calls `visit(lanes, vectors, channel)` for blocks of vectors that cover all channels; the last
/// block may overlap the one before.
template <typename T, int most, typename Visit>
void forEachVector(int64_t channels, const Visit &visit) {
  auto cover = [&]<int64_t lanes>() {
    int64_t c = 0;
    for (; c + most * lanes <= channels; c += most * lanes)
      visit.template operator()<lanes, most>(c);
    for (; c < channels; c += lanes)
      visit.template operator()<lanes, 1>(std::min(c, channels - lanes));
  };
  if (channels >= registerLanes<T>)
    cover.template operator()<registerLanes<T>>();
  else if (channels >= 4)
    cover.template operator()<4>();
  else
    cover.template operator()<1>();
}

// --- gradient of the input -----------------------------------------------------------------------

/// A window element, and the position of the result whose window has it at a given input position.
struct ReachingWindow {
  int64_t tap, position;
};

/// Returns the windows that contain each position along dimension `d` of the input.
std::vector<std::vector<ReachingWindow>> reachesAlong(const Window &w, size_t d) {
  std::vector<std::vector<ReachingWindow>> all(static_cast<size_t>(w.in[d]));
  for (int64_t position = 0; position < w.out[d]; ++position)
    for (int64_t tap = 0; tap < w.size[d]; ++tap) {
      int64_t at = position * w.stride[d] - w.padBefore[d] + tap * w.dilation[d];
      if (at >= 0 && at < w.in[d])
        all[static_cast<size_t>(at)].push_back({tap, position});
    }
  return all;
}

template <typename T>
void inputGradientByReaches(OpContext &ctx, const PlacedConvolution &c, T *in, const T *filter,
                            const T *out) {
  const Window &w = c.window;
  const std::vector<std::vector<ReachingWindow>> reaches[3] = {
      reachesAlong(w, 0), reachesAlong(w, 1), reachesAlong(w, 2)};
  int64_t channels = c.inChannels, lines = c.batch * w.in[0] * w.in[1];
  auto reachAt = [&](size_t d, int64_t i) -> const std::vector<ReachingWindow> & {
    return reaches[d][static_cast<size_t>(i)];
  };
  auto gather = [&](int64_t line) {
    const auto &planes = reachAt(0, line / w.in[1] % w.in[0]), &rows = reachAt(1, line % w.in[1]);
    const T *image = out + line / (w.in[1] * w.in[0]) * w.out[0] * w.out[1] * w.out[2] * channels;
    for (int64_t column = 0; column < w.in[2]; ++column) {
      T *to = in + (line * w.in[2] + column) * channels;
      forEachVector<T, 4>(channels, [&]<int64_t lanes, int vectors>(int64_t channel) {
        using Vector = Lanes<T, lanes>;
        typename Vector::Type sum[vectors] = {};
        for (const ReachingWindow &plane : planes)
          for (const ReachingWindow &row : rows) {
            int64_t line = (plane.position * w.out[1] + row.position) * w.out[2];
            int64_t taps = (plane.tap * w.size[1] + row.tap) * w.size[2];
            for (const ReachingWindow &reach : reachAt(2, column)) {
              const T *y = image + (line + reach.position) * channels + channel;
              const T *weights = filter + (taps + reach.tap) * channels + channel;
#pragma unroll
              for (int v = 0; v < vectors; ++v)
                sum[v] += Vector::load(y + v * lanes) * Vector::load(weights + v * lanes);
            }
          }
        std::memcpy(to + channel, sum, sizeof sum);
      });
    }
  };
  double products = static_cast<double>(w.size[0] * w.size[1] * w.size[2] * w.in[2] * channels);
  ctx.parallelFor(lines, 0.1 * products, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      gather(line);
  });
}

/// Returns the convolution with the reversed filter that computes the gradient.
PlacedConvolution withReversedFilter(const PlacedConvolution &c) {
  PlacedConvolution turned = c;
  std::swap(turned.window.in, turned.window.out);
  for (size_t d = 0; d < 3; ++d)
    turned.window.padBefore[d] =
        (c.window.size[d] - 1) * c.window.dilation[d] - c.window.padBefore[d];
  return turned;
}

template <typename T>
void inputGradient(OpContext &ctx, const PlacedConvolution &c, T *in, const T *filter,
                   const T *out) {
  PlacedConvolution turned = withReversedFilter(c);
  if (c.window.stride != Volume{1, 1, 1} || std::ranges::min(turned.window.padBefore) < 0)
    return inputGradientByReaches(ctx, c, in, filter, out);
  int64_t taps = c.window.size[0] * c.window.size[1] * c.window.size[2];
  std::vector<T> reversed(static_cast<size_t>(taps * c.inChannels));
  for (int64_t tap = 0; tap < taps; ++tap)
    std::copy_n(filter + tap * c.inChannels, c.inChannels,
                reversed.data() + (taps - 1 - tap) * c.inChannels);
  convolveDepthwise(ctx, turned, out, reversed.data(), in, nullptr);
}

// --- gradient of the filter ----------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr int vectorsTogether = 2;
#else
constexpr int vectorsTogether = 1;
#endif
constexpr int64_t maxTaps = 4;

struct Range {
  int64_t begin, end;
};

/// Returns the positions of the result along dimension `d` whose windows have element `tap` inside
/// the input.
Range rangeOf(const Window &w, size_t d, int64_t tap) {
  int64_t first = tap * w.dilation[d] - w.padBefore[d], step = w.stride[d]; // at position 0
  int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
  int64_t end = first < w.in[d] ? (w.in[d] - 1 - first) / step + 1 : 0;
  begin = std::min(begin, w.out[d]);
  return {begin, std::clamp(end, begin, w.out[d])};
}

/// The sums for `taps` adjacent elements of a window line, for some channels.
template <typename T, int64_t lanes, int vectors, int64_t taps> struct LineSums {
  using Vector = Lanes<T, lanes>;

  /// Adds the positions in `range` for elements [first, first + count). `in` points to the input at
  /// the first element, `out` to the result.
  template <int64_t first, int64_t count>
  [[gnu::always_inline]] void add(const PlacedConvolution &c, const T *in, const T *out,
                                  const Range &range) {
    const Window &w = c.window;
    int64_t step = w.stride[2] * c.inChannels, toTap = w.dilation[2] * c.inChannels;
    in += range.begin * step;
    out += range.begin * c.inChannels;
    // a sum of its own, since adding single positions to a large sum loses precision
    typename Vector::Type own[count][vectors] = {};
    for (int64_t i = range.begin; i < range.end; ++i, in += step, out += c.inChannels)
#pragma unroll
      for (int v = 0; v < vectors; ++v) {
        const auto y = Vector::load(out + v * lanes);
#pragma unroll
        for (int64_t t = 0; t < count; ++t)
          own[t][v] += Vector::load(in + (first + t) * toTap + v * lanes) * y;
      }
    for (int64_t t = 0; t < count; ++t)
      for (int v = 0; v < vectors; ++v)
        sum[first + t][v] += own[t][v];
  }

  /// Adds the positions for which only some of the elements lie inside the input.
  template <int64_t t = 0>
  void addEnds(const PlacedConvolution &c, const T *in, const T *out, const Range (&ranges)[taps],
               const Range &common) {
    if constexpr (t < taps) {
      add<t, 1>(c, in, out, {ranges[t].begin, std::min(common.begin, ranges[t].end)});
      add<t, 1>(c, in, out, {std::max(common.end, ranges[t].begin), ranges[t].end});
      addEnds<t + 1>(c, in, out, ranges, common);
    }
  }

  typename Vector::Type sum[taps][vectors] = {};
};

/// Computes elements [tap, tap + taps) of a window line, for the channels of a vector block at
/// `channel`.
template <typename T, int64_t lanes, int vectors, int64_t taps>
void gradientOfTaps(const PlacedConvolution &c, int64_t plane, int64_t line, int64_t tap,
                    int64_t channel, const T *in, const T *out, T *filter) {
  const Window &w = c.window;
  const Range planes = rangeOf(w, 0, plane), lines = rangeOf(w, 1, line);
  Range ranges[taps], common = {0, w.out[2]};
  for (int64_t t = 0; t < taps; ++t) {
    ranges[t] = rangeOf(w, 2, tap + t);
    common = {std::max(common.begin, ranges[t].begin), std::min(common.end, ranges[t].end)};
  }
  common.end = std::max(common.begin, common.end);
  LineSums<T, lanes, vectors, taps> sums;
  for (int64_t n = 0; n < c.batch; ++n)
    for (int64_t o0 = planes.begin; o0 < planes.end; ++o0)
      for (int64_t o1 = lines.begin; o1 < lines.end; ++o1) {
        int64_t i0 = o0 * w.stride[0] - w.padBefore[0] + plane * w.dilation[0];
        int64_t i1 = o1 * w.stride[1] - w.padBefore[1] + line * w.dilation[1];
        int64_t first = tap * w.dilation[2] - w.padBefore[2];
        const T *x =
            in + (((n * w.in[0] + i0) * w.in[1] + i1) * w.in[2] + first) * c.inChannels + channel;
        const T *y =
            out + ((n * w.out[0] + o0) * w.out[1] + o1) * w.out[2] * c.inChannels + channel;
        sums.template add<0, taps>(c, x, y, common);
        sums.addEnds(c, x, y, ranges, common);
      }
  filter += ((plane * w.size[1] + line) * w.size[2] + tap) * c.inChannels + channel;
  for (int64_t t = 0; t < taps; ++t)
    std::memcpy(filter + t * c.inChannels, sums.sum[t], sizeof sums.sum[t]);
}

/// Computes one line of the window.
template <typename T, int64_t lanes, int vectors>
void gradientOfLine(const PlacedConvolution &c, int64_t plane, int64_t line, int64_t channel,
                    const T *in, const T *out, T *filter) {
  constexpr decltype(&gradientOfTaps<T, lanes, vectors, 1>) all[maxTaps] = {
      gradientOfTaps<T, lanes, vectors, 1>, gradientOfTaps<T, lanes, vectors, 2>,
      gradientOfTaps<T, lanes, vectors, 3>, gradientOfTaps<T, lanes, vectors, 4>};
  for (int64_t tap = 0, taps; tap < c.window.size[2]; tap += taps) {
    taps = std::min(c.window.size[2] - tap, maxTaps);
    all[taps - 1](c, plane, line, tap, channel, in, out, filter);
  }
}

template <typename T>
void filterGradient(OpContext &ctx, const PlacedConvolution &c, const T *in, T *filter,
                    const T *out) {
  const Window &w = c.window;
  constexpr int64_t lanes = registerLanes<T>, together = lanes * vectorsTogether;
  int64_t blocks = std::max<int64_t>(c.inChannels / together, 1);
  auto compute = [&](int64_t unit) {
    int64_t block = unit % blocks, line = unit / blocks % w.size[1],
            plane = unit / blocks / w.size[1];
    int64_t channel = block * together;
    int64_t count = block + 1 < blocks ? together : c.inChannels - channel;
    for (; count >= together; count -= together, channel += together)
      gradientOfLine<T, lanes, vectorsTogether>(c, plane, line, channel, in, out, filter);
    // The remaining channels, with some preceding ones to fill a vector if possible.
    int64_t first = std::max(std::min(channel, c.inChannels - lanes), int64_t{0});
    if (count > 0)
      forEachVector<T, 1>(c.inChannels - first, [&]<int64_t width, int vectors>(int64_t at) {
        gradientOfLine<T, width, vectors>(c, plane, line, first + at, in, out, filter);
      });
  };
  int64_t units = w.size[0] * w.size[1] * blocks;
  double products = static_cast<double>(c.batch * w.out[0] * w.out[1] * w.out[2]) *
                    static_cast<double>(w.size[2] * c.inChannels) / static_cast<double>(blocks);
  ctx.parallelFor(units, 0.03 * products, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit)
      compute(unit);
  });
}

} // namespace

void inputGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, float *in,
                            const float *filter, const float *out) {
  inputGradient(ctx, c, in, filter, out);
}
void inputGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, double *in,
                            const double *filter, const double *out) {
  inputGradient(ctx, c, in, filter, out);
}

void filterGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, const float *in,
                             float *filter, const float *out) {
  filterGradient(ctx, c, in, filter, out);
}
void filterGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, const double *in,
                             double *filter, const double *out) {
  filterGradient(ctx, c, in, filter, out);
}

} // namespace treadle
