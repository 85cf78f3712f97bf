// What the kernels of images have in common: [batch, height, width, channels], sizes as inputs, and
// elements of any dtype as floats.
#pragma once

#include "treadle/kernels/Element.h"

#include <array>

namespace treadle {

/// The dimensions of a batch of images.
struct ImageShape {
  int64_t batch = 0, height = 0, width = 0, channels = 0;

  int64_t rowSize() const { return width * channels; }
  int64_t imageSize() const { return height * rowSize(); }
  int64_t count() const { return batch * imageSize(); }
  std::array<int64_t, 4> dims() const { return {batch, height, width, channels}; }
  /// Where a pixel's channels begin.
  int64_t at(int64_t n, int64_t y, int64_t x) const {
    return ((n * height + y) * width + x) * channels;
  }
};

/// The shape of input `i`, of rank 4; nothing, having failed. `what` names it in messages.
std::optional<ImageShape> readImageShape(OpContext &ctx, int i, const char *what);

/// A positive height and width from input `i`, a vector of two; nothing, having failed.
std::optional<std::array<int64_t, 2>> readImageSize(OpContext &ctx, int i, const char *what);

/// The tensor as floats: itself where it is of floats already; nothing, having failed.
std::optional<Tensor> asFloats(OpContext &ctx, const Tensor &t);

} // namespace treadle
