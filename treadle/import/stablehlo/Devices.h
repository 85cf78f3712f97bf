// Internal to the folder: the devices that a program is for.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle::hlo {

/// A grid of processes, each of which runs the program. A process is the rank `replica * partitions
/// + partition` of a world.
struct Devices {
  int64_t replicas = 1, partitions = 1;

  int64_t size() const { return replicas * partitions; }
};

/// What the module's attributes say, one of each where they don't. Emits an error for numbers that
/// make no grid.
mlir::FailureOr<Devices> devicesOf(mlir::ModuleOp module);

} // namespace treadle::hlo
