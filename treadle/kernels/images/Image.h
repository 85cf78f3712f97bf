// Inputs that image kernels share: [batch, height, width, channels], sizes, and elements of any
// dtype converted to float.
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
  /// Returns the offset of a pixel's first channel.
  int64_t at(int64_t n, int64_t y, int64_t x) const {
    return ((n * height + y) * width + x) * channels;
  }
};

/// Reads the shape of input `i`, of rank 4; nullopt, with ctx failed, for other ranks. `what` is
/// its name in error messages.
std::optional<ImageShape> readImageShape(OpContext &ctx, int i, const char *what);

/// Reads a positive height and width from input `i`, a vector of two; nullopt, with ctx failed, if
/// it is invalid.
std::optional<std::array<int64_t, 2>> readImageSize(OpContext &ctx, int i, const char *what);

/// Converts the tensor to float, without a copy if it is float already; nullopt, with ctx failed,
/// on errors.
std::optional<Tensor> asFloats(OpContext &ctx, const Tensor &t);

} // namespace treadle
