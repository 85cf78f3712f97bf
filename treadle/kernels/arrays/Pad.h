// Pads: a tensor inside of a larger one, of which the rest has one value.
#pragma once

#include "treadle/kernels/ElementCopy.h"

namespace treadle {

/// How one dimension is padded: `skipped` elements of the input are left out, the next `kept`
/// elements start at index `before` of the result.
struct PadRange {
  int64_t before, kept, skipped;
};

/// Writes all elements of `out`: those of `in` in their ranges, one for each dimension, and `value`
/// elsewhere. A null value is zero (or an empty string). With `ctx` on the run's threads.
void copyPadded(OpContext *ctx, const Tensor &in, std::span<const PadRange> ranges,
                const void *value, Tensor &out);

} // namespace treadle
