// The form of clusters that is compiled: a function and its callees, without regions and frames.
#pragma once

#include "treadle/lowering/Lowering.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace treadle::codegen {

/// Copies a function, and the functions of `index` that it calls, within their context. Loops and
/// conditionals become functional, and nodes that one kernel computes are fused. The function is
/// the first one of the module. Other forms of control flow remain; they can't be compiled.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> functionalForm(tfg::FuncOp function,
                                                           const ModuleIndex &index);

} // namespace treadle::codegen
