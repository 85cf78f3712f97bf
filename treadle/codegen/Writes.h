// Writes tensors element by element during translation.
#pragma once

#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"

namespace treadle::codegen {

/// Returns a tensor with the elements that `fill` stores; null if `fill` returns false or would
/// call kernels. Meanwhile the translator's builder is inside the loops.
using Fill = llvm::function_ref<bool(mlir::Value tensor, mlir::ValueRange loops)>;
mlir::Value writeTensor(Translator &t, const TracedValue &tensor, llvm::ArrayRef<mlir::Value> sizes,
                        bool isParallel, Fill fill);

/// Computes the elements of several tensors of one shape together, at the translator's builder.
/// Returns nullopt if `elementsAt` does, or would call kernels.
using ElementsAt = llvm::function_ref<std::optional<llvm::SmallVector<mlir::Value>>(
    llvm::ArrayRef<mlir::Value> at)>;
std::optional<llvm::SmallVector<mlir::Value>> generateAll(Translator &t,
                                                          llvm::ArrayRef<int64_t> shape,
                                                          llvm::ArrayRef<mlir::Type> elements,
                                                          ElementsAt elementsAt);

/// Checks that indices are in range: of one size, or of several for index vectors along the last
/// dimension. Returns false if that can't be checked.
bool checkBelow(Translator &t, const TracedValue &indices, llvm::ArrayRef<int64_t> sizes);

} // namespace treadle::codegen
