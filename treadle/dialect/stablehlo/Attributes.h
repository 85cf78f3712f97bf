// Reads StableHLO attributes in every syntax that current and earlier text and bytecode use.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SmallVector.h"

namespace treadle::stablehlo {

/// Returns the numbers of an attribute in any spelling, with nested lists flattened; empty if it
/// has none.
llvm::SmallVector<int64_t> numbers(mlir::Attribute attr);
/// Returns the numbers of a field; empty if it is missing.
llvm::SmallVector<int64_t> fieldNumbers(mlir::DictionaryAttr fields, llvm::StringRef key);
/// Whether the attribute contains only numbers.
bool areNumbers(mlir::Attribute attr);
/// Whether it is one number: not negative, or at least 1.
bool isNonNegative(mlir::Attribute attr);
bool isCount(mlir::Attribute attr);

/// Returns the keyword; empty if it isn't one.
llvm::StringRef word(mlir::Attribute attr);
bool isWord(mlir::Attribute attr, llvm::ArrayRef<llvm::StringRef> words);

/// `{mode = "TOLERANCE", atol = 0.0, rtol = 1.0e-5, ulps = 2}`; the numbers are zero in other
/// modes.
bool isAccuracy(mlir::Attribute attr);
/// Whether it is one precision keyword or two.
bool isPrecision(mlir::Attribute attr);

/// Whether elements of the type are quantized, i.e. stored as integers: `!quant.uniform<...>`.
bool isQuantized(mlir::Type type);

} // namespace treadle::stablehlo
