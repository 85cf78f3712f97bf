// The dialects stablehlo, chlo, mhlo and check, and of sdy what programs of JAX have of it. Their
// ops are in Ops.h.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

namespace treadle::stablehlo {

void loadDialects(mlir::MLIRContext &context);
/// For contexts that load dialects as they meet them. Ops still have to be allowed unregistered.
void insertDialects(mlir::DialectRegistry &registry);

/// Whether the operation is of stablehlo, mhlo or chlo.
bool isHlo(mlir::Operation *op);

/// The op of stablehlo or chlo that an op of mhlo is today; its own name where there is none.
mlir::OperationName modernName(mlir::OperationName name);
/// Ops of mhlo become those that they are today.
void modernize(mlir::ModuleOp module);

} // namespace treadle::stablehlo
