// The dialects stablehlo, chlo, mhlo and check, and the part of sdy that JAX programs use. Their
// ops are in Ops.h.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

namespace treadle::stablehlo {

void loadDialects(mlir::MLIRContext &context);
/// For contexts that load dialects lazily. Unregistered ops still have to be allowed.
void insertDialects(mlir::DialectRegistry &registry);

/// Whether the operation belongs to stablehlo, mhlo or chlo.
bool isHlo(mlir::Operation *op);

/// Returns the stablehlo or chlo op that replaced an mhlo op; its own name if there is none.
mlir::OperationName currentOpName(mlir::OperationName name);
/// Replaces mhlo ops by their current equivalents.
void upgradeMhloOps(mlir::ModuleOp module);

} // namespace treadle::stablehlo
