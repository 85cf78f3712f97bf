// Functions of floats as arithmetic, for loops that LLVM vectorizes.
#pragma once

#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// The value of an operation of the math dialect over f32 as arithmetic without calls or branches;
/// null for other operations. At most 4 units in the last place from the true value, for
/// infinities, NaN and denormal results too.
mlir::Value expandFloatMath(mlir::OpBuilder &b, mlir::Operation *op, mlir::ValueRange operands);

} // namespace treadle::codegen
