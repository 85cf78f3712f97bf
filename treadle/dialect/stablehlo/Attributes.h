// Attributes of StableHLO in the spellings that texts and files have had for them.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"

namespace treadle::stablehlo {

/// The numbers of an attribute in any spelling, nested lists flattened; none for what has none.
llvm::SmallVector<int64_t> numbers(mlir::Attribute attr);
/// The numbers of a field; none where it isn't there.
llvm::SmallVector<int64_t> fieldNumbers(mlir::DictionaryAttr fields, llvm::StringRef key);
/// Whether all that is in the attribute are numbers.
bool areNumbers(mlir::Attribute attr);
/// One number that isn't negative, and one that is 1 or more.
bool isPosition(mlir::Attribute attr);
bool isCount(mlir::Attribute attr);

/// A keyword; empty for what isn't one.
llvm::StringRef word(mlir::Attribute attr);
bool isWord(mlir::Attribute attr, llvm::ArrayRef<llvm::StringRef> words);

/// `{mode = "TOLERANCE", atol = 0.0, rtol = 1.0e-5, ulps = 2}`: of other modes, numbers are zero.
bool isAccuracy(mlir::Attribute attr);
/// Up to two words, or one.
bool isPrecision(mlir::Attribute attr);

/// A type of elements that are stored as integers and stand for others: `!quant.uniform<...>`.
bool isQuantized(mlir::Type type);

} // namespace treadle::stablehlo
