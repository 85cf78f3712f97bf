// What exporters agree on with those who call their programs: arguments of @main that aren't the
// function's own.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace treadle {

/// The versions of JAX's convention of calls that are known.
inline constexpr int64_t oldestConvention = 2, newestConvention = 10;

/// An attribute of arguments of @main: the name that one has if nothing else gives it one.
inline constexpr llvm::StringLiteral pathKey = "treadle.path";

/// The place of the CPU among the platforms that a program is for, if it is told the place: where
/// there are several. Unimplemented where it isn't among them, unless that doesn't matter.
Expected<std::optional<int64_t>> placeOfCpu(llvm::ArrayRef<std::string> platforms, bool isChecked);

/// The arguments of @main that no caller gives, in this order before its own.
struct EntryConvention {
  /// Of a program for several platforms: the place of the one that runs it among them.
  std::optional<int64_t> platform;
  /// Sizes of its own arguments: which of these, and which dimension.
  llvm::SmallVector<std::pair<uint64_t, uint64_t>> sizes;
};

/// Finds these values where @main is called: its arguments are its own afterwards. Tokens, which
/// order effects, aren't among its arguments and results any more. Emits an error where the
/// function doesn't have such arguments.
llvm::LogicalResult bindEntry(mlir::func::FuncOp main, const EntryConvention &convention);

/// Makes the tokens that @main takes where it begins, so that nobody gives them. Its other
/// arguments keep their names.
void bindTokens(mlir::func::FuncOp main);

} // namespace treadle
