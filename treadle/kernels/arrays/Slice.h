// Regions of a tensor as `x[begin:end:stride, ..., newaxis]` names them: shared by the ops that
// read them, write them, and write them into variables.
#pragma once

#include "treadle/kernels/ElementCopy.h"
#include "treadle/runtime/Kernel.h"

namespace treadle {

/// Attributes of the StridedSlice family: bit i speaks of entry i of begin, end and strides.
struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, newAxis = 0, shrinkAxis = 0;

  static SliceMasks of(const AttrMap &attrs);
};

/// Which elements of a tensor a slice names.
struct StridedRegion {
  DimVector begin, stride, size; // one entry for each dimension of the whole
  DimVector resultDims;          // with new axes, without those that are shrunk away
  DimVector resultAxes;          // the dimension of the whole that each is; -1: a new axis

  /// Where the region starts and how its dimensions step, in elements of the whole.
  int64_t offset(Dims whole) const;
  DimVector steps(Dims whole) const;
  /// True if its elements lie one after another in the whole.
  bool isContiguous(Dims whole) const;
};

/// InvalidArgument if the slice doesn't fit the shape.
Expected<StridedRegion> resolveRegion(Dims whole, const Tensor &begin, const Tensor &end,
                                      const Tensor &strides, const SliceMasks &masks);

/// Writes `value`, broadcast to the region, to it. `whole` must be unique.
Expected<void> assignRegion(Tensor &whole, const StridedRegion &region, const Tensor &value);

} // namespace treadle
