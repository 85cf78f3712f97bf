// Clusters as they are compiled: a function, and those that it calls, without regions and frames.
#pragma once

#include "treadle/lowering/Lowering.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace treadle::codegen {

/// Copies of a function and of the functions of `index` that it calls, in the context of these.
/// Loops and conditionals are functional, and what one kernel computes is one node. The function
/// stands first. What has another form of control flow stays: it can't be compiled.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> functionalForm(tfg::FuncOp function,
                                                           const ModuleIndex &index);

} // namespace treadle::codegen
