// Maps --fast-math to fast-math flags of operations. A flag applies to one operation, so that exact
// computations next to it (sizes, indices, the compiler's own formulas) stay exact.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// While it exists, and if `isOn`, float operations that a builder creates get fast-math flags:
/// - sums and products: `contract`, which allows fused multiply-add;
/// - quotients: `arcp`, so that a common divisor is inverted once;
/// - functions with a shorter formula (FloatMath.h): `afn`.
/// No operation gets `nnan`, `ninf` or `nsz`: infinities, NaN and signs of zeros are preserved.
class FastMathScope : public mlir::OpBuilder::Listener {
public:
  FastMathScope(mlir::OpBuilder &builder, bool isOn)
      : builder(builder), outer(builder.getListener()) {
    if (isOn)
      builder.setListener(this);
  }
  ~FastMathScope() override { builder.setListener(outer); }
  FastMathScope(const FastMathScope &) = delete;
  FastMathScope &operator=(const FastMathScope &) = delete;

  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint from) override;

private:
  mlir::OpBuilder &builder;
  mlir::OpBuilder::Listener *const outer;
};

} // namespace treadle::codegen
