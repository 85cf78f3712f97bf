// The calling conventions of exporters: arguments of @main beyond the function's own.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace treadle {

/// The supported versions of JAX's calling convention.
inline constexpr int64_t oldestConvention = 2, newestConvention = 10;

/// An attribute of @main's arguments: the fallback for an argument's name.
inline constexpr llvm::StringLiteral pathKey = "treadle.path";

/// Returns the index of the CPU among the program's platforms; nullopt if the program takes no such
/// index because it has one platform. Unimplemented if the CPU isn't among them, unless that
/// doesn't matter.
Expected<std::optional<int64_t>> cpuPlatformIndex(llvm::ArrayRef<std::string> platforms,
                                                  bool isChecked);

/// The leading arguments of @main that no caller passes, in this order.
struct EntryConvention {
  /// For a program with several platforms: the index of the current one.
  std::optional<int64_t> platform;
  /// Sizes of the function's own arguments, each as argument and dimension.
  llvm::SmallVector<std::pair<uint64_t, uint64_t>> sizes;
};

/// Computes these values in @main, which keeps only the function's own arguments. Tokens, which
/// order effects, are removed from its arguments and results. Emits an error if the function
/// doesn't have such arguments.
llvm::LogicalResult bindEntry(mlir::func::FuncOp main, const EntryConvention &convention);

/// Creates @main's token arguments inside it, so that callers don't pass them. Its other arguments
/// keep their names.
void bindTokens(mlir::func::FuncOp main);

} // namespace treadle
