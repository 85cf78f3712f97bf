// Float functions expanded to arithmetic, for loops that LLVM vectorizes.
#pragma once

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// Expands an operation of the math dialect over f32 or f64 to arithmetic without calls or
/// branches; returns null for other operations. The error is at most 4 units in the last place,
/// including results that are infinite, NaN or denormal. For f32 with the fast-math flag `afn` at
/// most 16, and values below 2^-125 may be flushed to 0.
mlir::Value expandFloatMath(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

/// The same for f64 only.
mlir::Value expandDoubleMath(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

/// Expands x^y over f32 in the same way. The error is at most 1 unit in the last place; infinities,
/// zeros and NaN are as in C's pow. With `isFast`: 512, less if the result is close to 1.
mlir::Value expandPower(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x, mlir::Value y,
                        bool isFast);

} // namespace treadle::codegen
