// Internal to the folder: the devices that a program is compiled for.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// A grid of processes that run the program. A process has rank `replica * partitions + partition`
/// in a world.
struct Devices {
  int64_t replicas = 1, partitions = 1;

  int64_t size() const { return replicas * partitions; }
};

/// Reads the module's attributes; each missing number is 1. Emits an error for numbers that don't
/// form a grid.
mlir::FailureOr<Devices> devicesOf(mlir::ModuleOp module);

} // namespace treadle::hlo
