#include "treadle/kernels/windows/Depthwise.h"

#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/products/VectorProduct.h"

#include <algorithm>
#include <cstring>
#include <limits>

// Contraction, as in every library's convolutions: one rounding per multiply-add.
#pragma clang fp contract(fast)

namespace treadle {
namespace {

// --- strips --------------------------------------------------------------------------------------

#if defined(__AVX512F__)
constexpr int stripLanes = 16;
#elif defined(__AVX__)
constexpr int stripLanes = 8;
#else
constexpr int stripLanes = 4;
#endif
/// Size of a strip: positions whose sums are kept in registers.
constexpr int stripRows = 2, stripColumns = 4;

typedef float Vector __attribute__((vector_size(stripLanes * sizeof(float))));

Vector load(const float *from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The operation on sums before they are stored: x * factor + offset, clamped.
struct StripEpilogue {
  const float *factor = nullptr, *offset = nullptr; // null if absent
  bool isBounded = false;                           // clamped to [0, most]
  float most = std::numeric_limits<float>::infinity();

  [[gnu::always_inline]] Vector operator()(Vector x, int64_t channel) const {
    const Vector zero = {}, above = zero + most;
    if (factor)
      x *= load(factor + channel);
    if (offset)
      x += load(offset + channel);
    if (!isBounded)
      return x;
    x = x > 0 ? x : zero;
    return x < above ? x : above;
  }
};

struct StripConvolution {
  const PlacedConvolution &c;
  const float *in, *filter; // one image
  float *out;
  StripEpilogue finish;

  int64_t rowsIn() const { return c.window.in[1]; }
  int64_t columnsIn() const { return c.window.in[2]; }

  /// Computes the sums at rows [row, row + rows) and columns [column, column + columns), for as
  /// many channels as a register holds. `isInside`: all windows lie inside the input horizontally,
  /// so that columns need no checks.
  template <int size, int step, bool isInside>
  void compute(int64_t row, int rows, int64_t column, int columns, int64_t channel) const {
    constexpr int height = (stripRows - 1) * step + size, width = (stripColumns - 1) * step + size;
    Vector sum[stripRows][stripColumns] = {};
    int64_t top = row * step - c.window.padBefore[1], left = column * step - c.window.padBefore[2];
    const float *weights = filter + channel;
#pragma unroll
    for (int y = 0; y < height; ++y) {
      if (top + y < 0 || top + y >= rowsIn())
        continue;
      const float *line = in + ((top + y) * columnsIn() + left) * c.inChannels + channel;
#pragma unroll
      for (int x = 0; x < width; ++x) {
        if (!isInside && (left + x < 0 || left + x >= columnsIn()))
          continue;
        const Vector value = load(line + x * c.inChannels);
#pragma unroll
        for (int r = 0; r < stripRows; ++r)
#pragma unroll
          for (int o = 0; o < stripColumns; ++o)
            if (int i = y - r * step, j = x - o * step; i >= 0 && i < size && j >= 0 && j < size)
              sum[r][o] += value * load(weights + (i * size + j) * c.inChannels);
      }
    }
    float *to = out + (row * c.window.out[2] + column) * c.inChannels + channel;
#pragma unroll
    for (int r = 0; r < stripRows; ++r)
#pragma unroll
      for (int o = 0; o < stripColumns; ++o)
        if (r < rows && o < columns) {
          Vector x = finish(sum[r][o], channel);
          std::memcpy(to + (r * c.window.out[2] + o) * c.inChannels, &x, sizeof x);
        }
  }

  /// Computes `rows` rows of the result.
  template <int size, int step> void computeRows(int64_t row, int rows) const {
    // Elements of one channel at this distance map to few sets of the L1 cache; then all channels
    // of a strip are computed before the next strip.
    constexpr int64_t crowded = 512;
    int64_t together = c.inChannels % crowded == 0 ? c.inChannels : stripLanes;
    for (int64_t first = 0; first < c.inChannels; first += together)
      for (int64_t column = 0; column < c.window.out[2]; column += stripColumns) {
        int64_t left = column * step - c.window.padBefore[2], end = c.window.out[2];
        bool isInside = left >= 0 && column + stripColumns <= end &&
                        left + (stripColumns - 1) * step + size <= columnsIn();
        auto columns = static_cast<int>(std::min<int64_t>(stripColumns, end - column));
        for (int64_t i = first; i < std::min(first + together, c.inChannels); i += stripLanes) {
          // the last vector may overlap the one before
          int64_t channel = std::min(i, c.inChannels - stripLanes);
          if (isInside)
            compute<size, step, true>(row, rows, column, columns, channel);
          else
            compute<size, step, false>(row, rows, column, columns, channel);
        }
      }
  }
};

using ComputeRows = void (StripConvolution::*)(int64_t row, int rows) const;

/// Returns null if there is no code for the window.
ComputeRows findStripCode(const Window &w) {
  constexpr ComputeRows all[][2] = {
      {&StripConvolution::computeRows<3, 1>, &StripConvolution::computeRows<3, 2>},
      {&StripConvolution::computeRows<5, 1>, &StripConvolution::computeRows<5, 2>},
      {&StripConvolution::computeRows<7, 1>, &StripConvolution::computeRows<7, 2>},
  };
  bool isSquare = w.size[1] == w.size[2] && w.stride[1] == w.stride[2] && w.in[0] == 1 &&
                  w.out[0] == 1 && w.size[0] == 1 && w.dilation[1] == 1 && w.dilation[2] == 1;
  if (!isSquare || w.size[1] < 3 || w.size[1] > 7 || w.size[1] % 2 == 0 || w.stride[1] > 2)
    return nullptr;
  return all[w.size[1] / 2 - 1][w.stride[1] - 1];
}

/// Reads an epilogue that can be applied in registers; false if it has other steps.
bool readStripEpilogue(const Epilogue &epilogue, StripEpilogue &finish) {
  using enum Activation;
  Activation last = epilogue.lastActivation();
  if (epilogue.addendTensor() || (last != None && last != Relu && last != Relu6))
    return false;
  auto floatsOf = [](const Tensor &t) { return t ? t.data<float>() : nullptr; };
  finish.factor = floatsOf(epilogue.channelFactor());
  finish.offset = floatsOf(epilogue.channelOffset());
  finish.isBounded = last != None;
  if (last == Relu6)
    finish.most = 6;
  return true;
}

void convolveByStrips(OpContext &ctx, const PlacedConvolution &c, const float *in,
                      const float *filter, float *out, const Epilogue *epilogue) {
  const Window &w = c.window;
  StripEpilogue finish;
  if (epilogue && readStripEpilogue(*epilogue, finish))
    epilogue = nullptr;
  ComputeRows computeRows = findStripCode(w);
  int64_t pairs = (w.out[1] + stripRows - 1) / stripRows;
  constexpr double nsPerProduct = 0.045; // for elements that come from memory
  double cost = nsPerProduct *
                static_cast<double>(stripRows * w.out[2] * c.inChannels * w.size[1] * w.size[2]);
  ctx.parallelFor(c.batch * pairs, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t image = i / pairs, row = i % pairs * stripRows;
      auto rows = static_cast<int>(std::min<int64_t>(stripRows, w.out[1] - row));
      float *result = out + image * w.out[1] * w.out[2] * c.inChannels;
      StripConvolution strips{c, in + image * w.in[1] * w.in[2] * c.inChannels, filter, result,
                              finish};
      (strips.*computeRows)(row, rows);
      if (epilogue)
        epilogue->apply(out, (image * w.out[1] + row) * w.out[2], rows * w.out[2], 0, c.inChannels);
    }
  });
}

// --- all windows ---------------------------------------------------------------------------------

/// Number of positions that share the reads of a depthwise filter.
constexpr int together = 4;

/// The elements of the window that lie inside the input, along one dimension.
struct InsideRange {
  int64_t begin, end, first; // first: position of the window in the input

  InsideRange(const Window &w, int d, int64_t o) : first(o * w.stride[d] - w.padBefore[d]) {
    begin = first < 0 ? (-first + w.dilation[d] - 1) / w.dilation[d] : 0;
    int64_t left = w.in[d] - first;
    end = left <= 0 ? 0 : std::min(w.size[d], (left + w.dilation[d] - 1) / w.dilation[d]);
    begin = std::min(begin, end);
  }
};

/// A vector as one register of 64 bytes, or two of 32; or a single element.
template <typename T, int lanes> struct Lanes {
  typedef T Type __attribute__((vector_size(lanes * sizeof(T))));
};
template <typename T> struct Lanes<T, 1> {
  using Type = T;
};

/// Computes channels [0, vectors * lanes) of `outputs` adjacent positions of a depthwise result,
/// the first of which is at `at`. The windows of all of them have the same elements inside.
template <int outputs, int vectors, int lanes, typename T>
void sumWindows(const Window &w, const InsideRange (&at)[3], int64_t channels, const T *in,
                const T *filter, T *out) {
  // Contraction, as in every library's convolutions: one rounding per multiply-add.
#pragma clang fp contract(fast)
  using Vector = typename Lanes<T, lanes>::Type;
  auto load = [](const T *from) {
    Vector value;
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  Vector sum[outputs][vectors] = {};
  int64_t toNext = w.stride[2] * channels;
  for (int64_t i = at[0].begin; i < at[0].end; ++i)
    for (int64_t j = at[1].begin; j < at[1].end; ++j) {
      int64_t plane = at[0].first + i * w.dilation[0], row = at[1].first + j * w.dilation[1];
      int64_t column = at[2].first + at[2].begin * w.dilation[2];
      const T *x = in + ((plane * w.in[1] + row) * w.in[2] + column) * channels;
      const T *y = filter + ((i * w.size[1] + j) * w.size[2] + at[2].begin) * channels;
      for (int64_t k = at[2].begin; k < at[2].end; ++k) {
        for (int v = 0; v < vectors; ++v) {
          Vector weight = load(y + v * lanes);
          for (int o = 0; o < outputs; ++o)
            sum[o][v] += load(x + o * toNext + v * lanes) * weight;
        }
        x += w.dilation[2] * channels;
        y += channels;
      }
    }
  for (int o = 0; o < outputs; ++o)
    for (int v = 0; v < vectors; ++v)
      std::memcpy(out + o * channels + v * lanes, &sum[o][v], sizeof(Vector));
}

/// Computes all channels of `outputs` positions.
template <int outputs, typename T>
void sumChannels(const Window &w, const InsideRange (&at)[3], int64_t channels, const T *in,
                 const T *filter, T *out) {
  constexpr int lanes = 64 / sizeof(T);
  int64_t c = 0;
  for (; c + 2 * lanes <= channels; c += 2 * lanes)
    sumWindows<outputs, 2, lanes>(w, at, channels, in + c, filter + c, out + c);
  for (; c + lanes <= channels; c += lanes)
    sumWindows<outputs, 1, lanes>(w, at, channels, in + c, filter + c, out + c);
  for (; c < channels; ++c)
    sumWindows<outputs, 1, 1>(w, at, channels, in + c, filter + c, out + c);
}

template <typename T>
void convolveByTaps(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter,
                    T *out, const Epilogue *epilogue) {
  const Window &w = c.window;
  int64_t channels = c.inChannels, inSize = w.in[0] * w.in[1] * w.in[2] * channels;
  int64_t taps = w.size[0] * w.size[1] * w.size[2], lines = c.batch * w.out[0] * w.out[1];
  double cost = 0.1 * static_cast<double>(w.out[2] * channels * taps);
  ctx.parallelFor(lines, cost, [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      int64_t o1 = line % w.out[1], o0 = line / w.out[1] % w.out[0];
      const T *image = in + line / (w.out[1] * w.out[0]) * inSize;
      auto isInside = [&](int64_t o2) {
        InsideRange at(w, 2, o2);
        return o2 < w.out[2] && at.begin == 0 && at.end == w.size[2];
      };
      for (int64_t o2 = 0, step; o2 < w.out[2]; o2 += step) {
        const InsideRange at[3] = {{w, 0, o0}, {w, 1, o1}, {w, 2, o2}};
        T *result = out + (line * w.out[2] + o2) * channels;
        step = isInside(o2) && isInside(o2 + together - 1) ? together : 1;
        auto sum = step == together ? sumChannels<together, T> : sumChannels<1, T>;
        sum(w, at, channels, image, filter, result);
      }
      if (epilogue)
        epilogue->apply(out, line * w.out[2], w.out[2], 0, channels);
    }
  });
}

} // namespace

bool suitsDepthwiseStrips(const PlacedConvolution &c) {
  return c.inChannels >= stripLanes && findStripCode(c.window);
}

void convolveDepthwise(OpContext &ctx, const PlacedConvolution &c, const float *in,
                       const float *filter, float *out, const Epilogue *epilogue) {
  if (suitsDepthwiseStrips(c))
    convolveByStrips(ctx, c, in, filter, out, epilogue);
  else
    convolveByTaps(ctx, c, in, filter, out, epilogue);
}

void convolveDepthwise(OpContext &ctx, const PlacedConvolution &c, const double *in,
                       const double *filter, double *out, const Epilogue *epilogue) {
  convolveByTaps(ctx, c, in, filter, out, epilogue);
}

// --- lines ---------------------------------------------------------------------------------------

/// Returns the dimension along which the image is a line.
static size_t dimensionOfLine(const Window &w) {
  return static_cast<size_t>(std::ranges::max_element(w.in) - w.in.begin());
}

bool isLongLine(const PlacedConvolution &c) {
  constexpr int64_t minTaps = 64;
  const Window &w = c.window;
  size_t along = dimensionOfLine(w);
  for (size_t d = 0; d < 3; ++d)
    if (d != along && (w.in[d] != 1 || w.size[d] != 1 || w.out[d] != 1 || w.padBefore[d] != 0))
      return false;
  return c.inChannels == 1 && c.outChannels == 1 && w.size[along] >= minTaps &&
         w.dilation[along] == 1;
}

template <typename T>
void convolveLine(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter, T *out,
                  const Epilogue *epilogue) {
  size_t d = dimensionOfLine(c.window);
  int64_t length = c.window.in[d], size = c.window.size[d], count = c.window.out[d];
  int64_t stride = c.window.stride[d], before = c.window.padBefore[d];
  auto isInside = [&](int64_t o) {
    return o * stride >= before && o * stride - before + size <= length;
  };
  ctx.parallelFor(
      c.batch * count, costOfProduct * static_cast<double>(size), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin, next; i < end; i = next) {
          int64_t o = i % count, first = o * stride - before;
          const T *line = in + i / count * length;
          next = i + 1;
          if (!isInside(o)) {
            int64_t low = std::clamp<int64_t>(-first, 0, size);
            int64_t high = std::clamp<int64_t>(length - first, low, size);
            multiplyRowsByVector(line + first + low, stride, 1, high - low, filter + low, out + i);
            continue;
          }
          while (next < end && next / count == i / count && isInside(next % count))
            ++next;
          multiplyRowsByVector(line + first, stride, next - i, size, filter, out + i);
        }
      });
  if (epilogue)
    epilogue->apply(out, 0, c.batch * count, 0, 1);
}

template void convolveLine<float>(OpContext &, const PlacedConvolution &, const float *,
                                  const float *, float *, const Epilogue *);
template void convolveLine<double>(OpContext &, const PlacedConvolution &, const double *,
                                   const double *, double *, const Epilogue *);

} // namespace treadle
