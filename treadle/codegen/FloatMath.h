// Functions of floats as arithmetic, for loops that LLVM vectorizes.
#pragma once

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// The value of an operation of the math dialect over f32 as arithmetic without calls or branches;
/// null for other operations. At most 4 units in the last place from the true value, for
/// infinities, NaN and denormal results too. With the flag `afn`: 16, and numbers nearer
/// to 0 than 2^-125 may count as 0.
mlir::Value expandFloatMath(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

/// x to the power of y over f32, likewise: 1 unit in the last place, and what C's pow gives for
/// infinities, zeros and NaN. With `isFast`: 512, less the closer to 1 the result is.
mlir::Value expandPower(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y,
                        bool isFast);

} // namespace treadle::codegen
