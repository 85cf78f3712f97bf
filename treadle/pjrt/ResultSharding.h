// How a program's results are spread over devices where it doesn't say.
#pragma once

#include "treadle/import/stablehlo/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace treadle::pjrt {

/// As the value is that the result is made of: an argument, a constraint, or what a shard_map
/// gives, through calls and operations with an operand of the result's shape. Every device has the
/// whole result where nothing tells more, or parts would differ in size.
hlo::Sharding inferredSharding(mlir::func::FuncOp main, unsigned result, int64_t devices);

} // namespace treadle::pjrt
