// Convolutions of one group as matrix products: of doubles, and of floats where there is no plan.
#pragma once

#include "treadle/kernels/Window.h"
#include "treadle/kernels/products/Epilogue.h"

namespace treadle {

/// A convolution in its place: [batch, in..., inChannels] with a filter [window..., inChannels,
/// outChannels] gives [batch, out..., outChannels]. Channels are last everywhere.
struct PlacedConvolution {
  Window window;
  int64_t batch, inChannels, outChannels;

  bool operator==(const PlacedConvolution &) const = default;
};

/// The result, as patches[positions, window * inChannels] * filter, and then the epilogue, which
/// may be null. T is float or double.
template <typename T>
void convolveByMatrix(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter,
                      T *out, const Epilogue *epilogue);

/// The gradient of the input: the patches' gradients added where the patches come from.
template <typename T>
void inputGradientByMatrix(OpContext &ctx, const PlacedConvolution &c, T *in, const T *filter,
                           const T *out);

/// The gradient of the filter, patches' * gradient.
template <typename T>
void filterGradientByMatrix(OpContext &ctx, const PlacedConvolution &c, const T *in, T *filter,
                            const T *out);

} // namespace treadle
