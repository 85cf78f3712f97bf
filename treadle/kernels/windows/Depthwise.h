// Depthwise convolutions without a channel multiplier: outChannels = inChannels, and the filter is
// [window..., inChannels].
#pragma once

#include "treadle/kernels/windows/ConvolutionByMatrix.h"

namespace treadle {

/// Whether there is specialized code for this window that reads each input element once for all
/// windows that contain it: square windows of size 3, 5 or 7 with strides of 1 or 2.
bool suitsDepthwiseStrips(const PlacedConvolution &c);

/// Computes the result, and applies an epilogue, which may be null. Fast if suitsDepthwiseStrips().
void convolveDepthwise(OpContext &ctx, const PlacedConvolution &c, const float *in,
                       const float *filter, float *out, const Epilogue *epilogue);
void convolveDepthwise(OpContext &ctx, const PlacedConvolution &c, const double *in,
                       const double *filter, double *out, const Epilogue *epilogue);

/// Whether the convolution is a long filter along a line of one channel, so that each element of
/// the result is an inner product.
bool isLongLine(const PlacedConvolution &c);
template <typename T>
void convolveLine(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter, T *out,
                  const Epilogue *epilogue);

/// Compute the gradients of the input and of the filter.
void inputGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, float *in,
                            const float *filter, const float *out);
void inputGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, double *in,
                            const double *filter, const double *out);
void filterGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, const float *in,
                             float *filter, const float *out);
void filterGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, const double *in,
                             double *filter, const double *out);

} // namespace treadle
