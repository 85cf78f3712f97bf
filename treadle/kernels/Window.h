// Sliding windows over images and volumes, shared by convolutions and pooling. Both compute on
// [batch, depth, rows, columns, channels]; an image is a volume of depth 1.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <array>

namespace treadle {

using Volume = std::array<int64_t, 3>; // depth, rows, columns

/// The dimensions [batch, depth, rows, columns, channels] of a tensor, with its number of spatial
/// dimensions and the position of the channels.
struct ImageDims {
  int spatial = 2;
  bool channelsFirst = false;
  int64_t batch = 1, channels = 1;
  Volume size = {1, 1, 1};

  /// Returns false if the tensor doesn't have `spatial` + 2 dimensions.
  bool read(Dims dims);
  std::vector<int64_t> tensorDims() const;
  int64_t positions() const { return size[0] * size[1] * size[2]; }
};

/// The attributes of a node with sliding windows.
struct WindowAttrs {
  enum class Padding : uint8_t { Same, Valid, Explicit };
  int spatial = 2;
  bool channelsFirst = false;
  Padding padding = Padding::Valid;
  Volume strides = {1, 1, 1}, dilations = {1, 1, 1};
  Volume padBefore = {0, 0, 0}, padAfter = {0, 0, 0}; // explicit paddings only
  int64_t channelStride = 1;

  /// Reads the attributes of `node`. Strides are optional, since some ops have them as an input.
  static Expected<WindowAttrs> of(const BindContext &node, int spatial);
  /// Splits a list with one entry per dimension of the tensor into the entries of the volume and of
  /// the channels (returned).
  Expected<int64_t> split(std::string_view name, std::span<const int64_t> list,
                          Volume &volume) const;
};

/// The geometry of a window over an input of a given size.
struct Window {
  Volume in, out, size, stride, dilation, padBefore;

  bool operator==(const Window &) const = default;
};

/// Computes `window`; returns false, with ctx failed, if the window is larger than the input.
bool placeWindow(OpContext &ctx, const WindowAttrs &attrs, const Volume &in, const Volume &size,
                 Window &window);

/// Returns the tensor in channels-last layout (itself if it already is); nullopt, with ctx failed,
/// if it can't be allocated.
std::optional<Tensor> withChannelsLast(OpContext &ctx, const Tensor &t, const ImageDims &dims);
/// Sets output `i` from a result in channels-last layout.
void setImageOutput(OpContext &ctx, int i, Tensor result, const ImageDims &dims);

/// Calls `visit(outPosition, inPosition, windowPosition)` for every window element that lies inside
/// the input. Positions count within one image.
template <typename Visit> void forEachTap(const Window &w, Visit &&visit) {
  Volume o, k, first, begin, end; // `first`: where a window begins, may be outside
  // A window may be far larger than the input: positions outside are skipped without visiting them.
  auto place = [&](int d) {
    int64_t step = w.dilation[d];
    first[d] = o[d] * w.stride[d] - w.padBefore[d];
    begin[d] = first[d] < 0 ? (step - 1 - first[d]) / step : 0;
    end[d] = std::min(w.size[d], first[d] < w.in[d] ? (w.in[d] - 1 - first[d]) / step + 1 : 0);
  };
  auto at = [&](int d) { return first[d] + k[d] * w.dilation[d]; };
  int64_t outAt = 0;
  for (o[0] = 0; o[0] < w.out[0]; ++o[0])
    for (o[1] = 0, place(0); o[1] < w.out[1]; ++o[1])
      for (o[2] = 0, place(1); o[2] < w.out[2]; ++o[2], ++outAt) {
        place(2);
        for (k[0] = begin[0]; k[0] < end[0]; ++k[0])
          for (k[1] = begin[1]; k[1] < end[1]; ++k[1])
            for (k[2] = begin[2]; k[2] < end[2]; ++k[2])
              visit(outAt, (at(0) * w.in[1] + at(1)) * w.in[2] + at(2),
                    (k[0] * w.size[1] + k[1]) * w.size[2] + k[2]);
      }
}

} // namespace treadle
