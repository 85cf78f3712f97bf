// Reductions of tensors, for ops that reduce by an operation of their own and those that reduce by
// a function.
#pragma once

#include "treadle/codegen/Translator.h"

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace treadle::codegen {

/// A reduction: how two elements are combined, and the value for no elements.
struct Reduction {
  bool (*accepts)(mlir::Type element);
  mlir::Value (*merge)(mlir::OpBuilder &b, mlir::Location loc, mlir::Value sum,
                       mlir::Value element);
  mlir::TypedAttr (*start)(mlir::OpBuilder &b, mlir::Type element);
  bool isSum = false, isMean = false;
};

/// Returns the reduction of this name ("max"); null if there is none.
const Reduction *findReduction(llvm::StringRef reduction, bool isUnsigned);

/// The loops of a reduction, and the indices into the tensors before and after it.
struct ReductionLoops {
  llvm::SmallVector<mlir::utils::IteratorType> types;
  mlir::AffineMap before, after;

  ReductionLoops(llvm::ArrayRef<bool> isReduced, mlir::MLIRContext *context);
};

/// Combines an element of each tensor with the accumulated values.
using Merge = llvm::function_ref<llvm::SmallVector<mlir::Value>(
    mlir::OpBuilder &, mlir::Location, mlir::ValueRange elements, mlir::ValueRange sums)>;

/// Reduces tensors of one shape together.
llvm::SmallVector<mlir::Value> reduced(Translator &t, llvm::ArrayRef<mlir::Value> from,
                                       llvm::ArrayRef<bool> isReduced,
                                       llvm::ArrayRef<mlir::Value> starts, Merge merge);

} // namespace treadle::codegen
