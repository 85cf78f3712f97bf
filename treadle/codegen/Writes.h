// Tensors that are written element by element while nodes are translated.
#pragma once

#include "treadle/codegen/Rc.h"
#include "treadle/codegen/Translator.h"

namespace treadle::codegen {

/// A tensor with the elements that `fill` stores; null where that gives false, or would call
/// kernels. The translator's builder is inside of the loops meanwhile.
using Fill = llvm::function_ref<bool(mlir::Value tensor, mlir::ValueRange loops)>;
mlir::Value writeTensor(Translator &t, const Typed &tensor, llvm::ArrayRef<mlir::Value> sizes,
                        bool isParallel, Fill fill);

/// Tensors of one shape whose elements are computed together, where the translator's builder is;
/// nothing where `elementsAt` gives nothing, or calls kernels.
using ElementsAt = llvm::function_ref<std::optional<llvm::SmallVector<mlir::Value>>(
    llvm::ArrayRef<mlir::Value> at)>;
std::optional<llvm::SmallVector<mlir::Value>> generateAll(Translator &t,
                                                          llvm::ArrayRef<int64_t> shape,
                                                          llvm::ArrayRef<mlir::Type> elements,
                                                          ElementsAt elementsAt);

/// Checks that indices are inside of a size; or of sizes, where they are vectors that lie along the
/// last dimension. False where that can't be told.
bool checkBelow(Translator &t, const Typed &indices, llvm::ArrayRef<int64_t> sizes);

} // namespace treadle::codegen
