// Loops that threads share.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace treadle::codegen {

/// Minimum work in picoseconds for sharing a loop among threads.
constexpr int64_t minSharedWork = 40'000'000;

/// Loops over tensors, of which threads may run ranges of the outermost one.
struct SharedLoops {
  std::string name;       // of the function that runs a range
  mlir::ValueRange views; // tensors that the loops access
  mlir::Region &body;
  mlir::Value size;  // trip count of the outermost loop
  mlir::Value count; // trip count of all loops together
  int64_t cost;      // of an iteration, in picoseconds
};

/// Emits the loops as a function, and at the builder a call that runs it on this thread, or on
/// several if it pays. `emit` emits the loops at the builder, which is inside of the function then,
/// with views of the tensors there; `mapping` has the values there of those that the body uses.
void shareLoops(
    mlir::OpBuilder &b, mlir::Location loc, const SharedLoops &loops, mlir::IRMapping &mapping,
    llvm::function_ref<void(mlir::ValueRange views, mlir::Value begin, mlir::Value end)> emit);

} // namespace treadle::codegen
