// Convolutions with one group as matrix products: of doubles, and of floats without a plan.
#pragma once

#include "treadle/kernels/Window.h"
#include "treadle/kernels/products/Epilogue.h"

namespace treadle {

/// The geometry of a convolution: [batch, in..., inChannels] with a filter [window..., inChannels,
/// outChannels] gives [batch, out..., outChannels]. All layouts are channels-last.
struct PlacedConvolution {
  Window window;
  int64_t batch, inChannels, outChannels;

  bool operator==(const PlacedConvolution &) const = default;
};

/// Computes the result as patches[positions, window * inChannels] * filter, and then applies the
/// epilogue, which may be null. T is float or double.
template <typename T>
void convolveByMatrix(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter,
                      T *out, const Epilogue *epilogue);

/// Computes the gradient of the input: adds the patches' gradients to the elements of the patches.
template <typename T>
void inputGradientByMatrix(OpContext &ctx, const PlacedConvolution &c, T *in, const T *filter,
                           const T *out);

/// Computes the gradient of the filter, patches' * gradient.
template <typename T>
void filterGradientByMatrix(OpContext &ctx, const PlacedConvolution &c, const T *in, T *filter,
                            const T *out);

} // namespace treadle
