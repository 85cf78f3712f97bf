// What --fast-math allows, as flags of operations: a flag says that one operation may be rounded
// otherwise, so that what must be exact (sizes, indices, formulas of our own) stays so beside it.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace treadle::codegen {

/// While it lives, and `isOn`, the operations over floats that a builder makes get the flags that
/// serve them:
/// - sums and products: `contract`, to be rounded once, together;
/// - quotients: `arcp`, so that what many are divided by is inverted once;
/// - functions that have a shorter formula (FloatMath.h): `afn`.
/// None has `nnan`, `ninf` or `nsz`: infinities, NaN and the signs of zeros are what they were.
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
