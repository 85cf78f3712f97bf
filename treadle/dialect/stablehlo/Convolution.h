// The dimension numbers of a convolution's operands and result.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"

namespace treadle::stablehlo {

/// The dimensions of an operand or result: two special ones, then the spatial ones in order.
struct ConvLayout {
  int64_t first = 0, last = 0; // batch and feature, or for the filter: input and output feature
  llvm::SmallVector<int64_t> spatial = {};
};

struct ConvDimensions {
  ConvLayout input, filter, output;
};

/// Parses `dimension_numbers`: fields, or three lists such as `[b, 0, f]`. Dimensions that aren't
/// stated are -1 or missing.
mlir::FailureOr<ConvDimensions> convDimensionsOf(mlir::Attribute attr);

} // namespace treadle::stablehlo
