// Operations on complex numbers, expressed by operations on their parts.
#pragma once

#include "treadle/codegen/Elementwise.h"

namespace treadle::codegen {

/// Returns the implementation of a form (see OpDef::elementwise) with complex operands or results;
/// null if its kernel must compute it. Results equal those of the kernels: a product is NaN where
/// its terms are, and a quotient has the infinities and zeros of C's Annex G. Functions are
/// accurate to a few units in the last place of the larger part.
const ElementwiseOp *findComplexForm(llvm::StringRef form);

/// Returns the product of two complex numbers.
Parts complexProduct(mlir::OpBuilder &builder, mlir::Location loc, Parts x, Parts y);

} // namespace treadle::codegen
