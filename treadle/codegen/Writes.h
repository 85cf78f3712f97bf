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

/// Checks that indices are inside of a size; or of sizes, where they are vectors that lie along the
/// last dimension. False where that can't be told.
bool checkBelow(Translator &t, const Typed &indices, llvm::ArrayRef<int64_t> sizes);

} // namespace treadle::codegen
