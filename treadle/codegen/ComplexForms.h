// Operations on complex numbers as operations on their parts.
#pragma once

#include "treadle/codegen/Elementwise.h"

namespace treadle::codegen {

/// How a form (see OpDef::elementwise) is computed of elements, or gives elements, that are
/// complex; null where its kernel does it. As the kernels: a product has NaN where its terms have,
/// a quotient has the infinities and zeros of C's Annex G. Functions are at most a few units in the
/// last place of the larger part away from the true value.
const ElementwiseOp *findComplexForm(llvm::StringRef form);

/// The product of two complex numbers.
Parts complexProduct(mlir::OpBuilder &builder, mlir::Location loc, Parts x, Parts y);

} // namespace treadle::codegen
