// Convolutions of floats as products of lines: the windows are read where they lie in the image,
// which is copied only where a margin must be added.
#include "treadle/kernels/windows/ConvolutionByMatrix.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace treadle {
namespace {

/// The input with its margins, so that all windows lie inside.
class Margined {
public:
  /// `in` as it lies, or a copy with zeros around it; nothing, having failed.
  static std::optional<Margined> of(OpContext &ctx, const PlacedConvolution &c, const float *in) {
    Margined out(c, in);
    const Window &w = c.window;
    bool isInside = true;
    for (size_t d = 0; d < 3; ++d) {
      int64_t reach = (w.out[d] - 1) * w.stride[d] + (w.size[d] - 1) * w.dilation[d] + 1;
      isInside &= w.padBefore[d] == 0 && reach <= w.in[d];
      out.size[d] = reach;
    }
    if (isInside)
      out.size = w.in;
    else if (!out.copy(ctx))
      return std::nullopt;
    return out;
  }

  Volume size;
  const float *data;

private:
  Margined(const PlacedConvolution &c, const float *in) : data(in), c(c) {}

  bool copy(OpContext &ctx) {
    int64_t lines = c.batch * size[0] * size[1], width = size[2] * c.inChannels;
    auto made = ctx.check(Tensor::make(DType::Float32, {lines, width}));
    if (!made)
      return false;
    storage = std::move(*made);
    auto *to = storage.data<float>();
    ctx.parallelFor(lines, 0.2 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line)
        copyLine(line, to + line * width);
    });
    data = to;
    return true;
  }

  void copyLine(int64_t line, float *to) const {
    const Window &w = c.window;
    int64_t row = line % size[1] - w.padBefore[1],
            plane = line / size[1] % size[0] - w.padBefore[0];
    int64_t width = size[2] * c.inChannels;
    if (row < 0 || row >= w.in[1] || plane < 0 || plane >= w.in[0]) {
      std::fill_n(to, width, 0.0F);
      return;
    }
    int64_t image = line / (size[1] * size[0]);
    const float *from = data + ((image * w.in[0] + plane) * w.in[1] + row) * w.in[2] * c.inChannels;
    int64_t before = std::min(w.padBefore[2], size[2]) * c.inChannels;
    int64_t count = std::min(w.in[2] * c.inChannels, width - before);
    std::fill_n(to, before, 0.0F);
    std::copy_n(from, count, to + before);
    std::fill_n(to + before + count, width - before - count, 0.0F);
  }

  const PlacedConvolution &c;
  Tensor storage;
};

} // namespace

void convolvePacked(OpContext &ctx, const PlacedConvolution &c, const float *in,
                    std::span<const std::shared_ptr<const PackedMatrix>> filters, float *out,
                    const Epilogue *epilogue) {
  const Window &w = c.window;
  std::optional<Margined> image = Margined::of(ctx, c, in);
  if (!image)
    return;
  const int64_t column = c.inChannels, line = image->size[2] * column,
                plane = image->size[1] * line, rows = c.batch * w.out[0] * w.out[1] * w.out[2];
  auto groups = static_cast<int64_t>(filters.size());
  // What lies side by side: a line of the window, unless there are gaps in it.
  bool hasGaps = (w.dilation[2] != 1 && w.size[2] != 1) || groups > 1;
  std::vector<int64_t> segments;
  for (int64_t i = 0; i < w.size[0]; ++i)
    for (int64_t j = 0; j < w.size[1]; ++j)
      for (int64_t k = 0; k < (hasGaps ? w.size[2] : 1); ++k)
        segments.push_back(i * w.dilation[0] * plane + j * w.dilation[1] * line +
                           k * w.dilation[2] * column);
  PackedLeft left{segments, hasGaps ? column / groups : w.size[2] * column, 1};
  // Windows of one point, one after the other, as most are in some networks.
  bool isPoints = w.size == Volume{1, 1, 1} && w.out == image->size;
  for (int64_t g = 0; g < groups; ++g) {
    const float *first = image->data + g * (column / groups);
    auto windowAt = [&](int64_t position) {
      int64_t o2 = position % w.out[2], o1 = position / w.out[2] % w.out[1];
      int64_t o0 = position / (w.out[2] * w.out[1]) % w.out[0];
      int64_t batch = position / (w.out[2] * w.out[1] * w.out[0]);
      return first + (batch * image->size[0] + o0 * w.stride[0]) * plane + o1 * w.stride[1] * line +
             o2 * w.stride[2] * column;
    };
    auto pointAt = [&](int64_t position) { return first + position * column; };
    multiplyPacked(
        ctx, rows, isPoints ? RowAt(pointAt) : RowAt(windowAt), left,
        *filters[static_cast<size_t>(g)],
        {out + g * (c.outChannels / groups), c.outChannels, groups == 1 ? epilogue : nullptr});
  }
  if (groups > 1 && epilogue)
    epilogue->apply(out, 0, rows, 0, c.outChannels);
}

} // namespace treadle
