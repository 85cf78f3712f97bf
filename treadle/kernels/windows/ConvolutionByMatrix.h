// Convolutions of one group as matrix products, and depthwise ones by rows: what images in float
// and double are convolved with.
#pragma once

#include "treadle/kernels/Window.h"
#include "treadle/kernels/products/Epilogue.h"
#include "treadle/kernels/products/PackedProduct.h"

namespace treadle {

/// A convolution in its place: [batch, in..., inChannels] with a filter [window..., inChannels,
/// outChannels] gives [batch, out..., outChannels]. Channels are last everywhere.
struct PlacedConvolution {
  Window window;
  int64_t batch, inChannels, outChannels;
};

/// The result, as patches[positions, window * inChannels] * filter, and then the epilogue, which
/// may be null. Of several groups each has a filter, its part of the input's channels, and its part
/// of the output's, in order.
void convolvePacked(OpContext &ctx, const PlacedConvolution &c, const float *in,
                    std::span<const std::shared_ptr<const PackedMatrix>> filters, float *out,
                    const Epilogue *epilogue);

/// Whether `convolveWinograd` is the faster way.
bool suitsWinograd(const PlacedConvolution &c);

/// The filter [3, 3, inChannels, outChannels] as convolveWinograd needs it; null where there is no
/// memory.
std::shared_ptr<const PackedMatrix> packForWinograd(OpContext &ctx, const float *filter,
                                                    int64_t inChannels, int64_t outChannels);

/// The same for a filter that `packForWinograd` made, with fewer products; each element is the sum
/// of products of its window to within rounding of the largest in a tile of 4x4 points. False where
/// something isn't finite, for which that doesn't hold, or for want of memory: the result is
/// undefined then.
bool convolveWinograd(OpContext &ctx, const PlacedConvolution &c, const float *in,
                      const PackedMatrix &filter, float *out, const Epilogue *epilogue);

/// The same for one filter as it lies. T is float or double.
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

/// A depthwise convolution without a multiplier: outChannels = inChannels, the filter is
/// [window..., inChannels].
template <typename T>
void convolveDepthwise(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter,
                       T *out, const Epilogue *epilogue);

} // namespace treadle
