// Strided regions of a tensor, `x[begin:end:stride, ..., newaxis]`: shared by the ops that read
// them, write them, and write them into variables.
#pragma once

#include "treadle/kernels/ElementCopy.h"
#include "treadle/runtime/Kernel.h"

namespace treadle {

/// Attributes of the StridedSlice family: bit i applies to entry i of begin, end and strides.
struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, newAxis = 0, shrinkAxis = 0;

  static SliceMasks of(const AttrMap &attrs);
};

/// The elements of a tensor that a slice selects.
struct StridedRegion {
  DimVector begin, stride, size; // one entry for each dimension of the whole
  DimVector resultDims;          // with new axes, without shrunk axes
  DimVector resultAxes;          // the dimension of the whole for each; -1: a new axis

  /// The region's offset and strides, in elements of the whole.
  int64_t offset(Dims whole) const;
  DimVector steps(Dims whole) const;
  /// Whether the region's elements are contiguous in the whole.
  bool isContiguous(Dims whole) const;
};

/// Resolves a slice for the shape `whole`; InvalidArgument if it doesn't fit.
Expected<StridedRegion> resolveRegion(Dims whole, const Tensor &begin, const Tensor &end,
                                      const Tensor &strides, const SliceMasks &masks);

/// Writes `value`, broadcast to the region's shape, to the region. `whole` must be uniquely owned.
Expected<void> assignRegion(Tensor &whole, const StridedRegion &region, const Tensor &value);

} // namespace treadle
