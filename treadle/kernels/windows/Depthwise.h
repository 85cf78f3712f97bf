// Depthwise convolutions without a multiplier: outChannels = inChannels, and the filter is
// [window..., inChannels].
#pragma once

#include "treadle/kernels/windows/ConvolutionByMatrix.h"

namespace treadle {

/// Whether there is code for this window in which each element that is read serves all windows that
/// reach it: square ones of 3, 5 or 7 with steps of 1 or 2.
bool suitsDepthwiseStrips(const PlacedConvolution &c);

/// The result, with an epilogue, which may be null. Fast where strips suit it.
void convolveDepthwise(OpContext &ctx, const PlacedConvolution &c, const float *in,
                       const float *filter, float *out, const Epilogue *epilogue);
void convolveDepthwise(OpContext &ctx, const PlacedConvolution &c, const double *in,
                       const double *filter, double *out, const Epilogue *epilogue);

/// Whether it is a long filter along a line of one channel: each element of the result is an inner
/// product.
bool isLongLine(const PlacedConvolution &c);
template <typename T>
void convolveLine(OpContext &ctx, const PlacedConvolution &c, const T *in, const T *filter, T *out,
                  const Epilogue *epilogue);

/// The gradients of the input and of the filter.
void inputGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, float *in,
                            const float *filter, const float *out);
void inputGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, double *in,
                            const double *filter, const double *out);
void filterGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, const float *in,
                             float *filter, const float *out);
void filterGradientDepthwise(OpContext &ctx, const PlacedConvolution &c, const double *in,
                             double *filter, const double *out);

} // namespace treadle
