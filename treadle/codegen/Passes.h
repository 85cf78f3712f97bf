// The way from tensor code to machine code, step by step. Each step is a function over the one
// `func.func` of a cluster; treadle-opt has them as passes.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "treadle/tensor/Tensor.h"

namespace treadle::codegen {

/// What no iteration of a loop changes is computed before it, calls of kernels among it.
void hoistInvariants(mlir::ModuleOp module);

/// Elementwise ops over the results of others become one loop nest, unless that repeats work.
llvm::LogicalResult fuseElementwise(mlir::ModuleOp module);

/// Tensors become references: `tensor<T>` is `!rc.ref<tensor<T>>`, linalg ops write into tensors
/// that are allocated here, constants join the table. Nothing is counted yet.
llvm::LogicalResult bufferize(mlir::func::FuncOp function, std::vector<Tensor> &constants);

/// Small tensors that end where they are made lie on the stack: nobody allocates or counts them.
void placeLocally(mlir::func::FuncOp function);

/// Structured control flow becomes branches, and each check one that leaves.
llvm::LogicalResult lowerControlFlow(mlir::ModuleOp module);

/// Retains and releases such that whatever is allocated or handed in is released or handed on once,
/// on every path. Works on any control flow graph.
void insertCounts(mlir::func::FuncOp function);

/// Reference counts that can be told beforehand go: a retain and a release of the same value, and
/// allocations that can take over what is released.
void elideCounts(mlir::func::FuncOp function);

/// Loops over elements.
llvm::LogicalResult lowerLoops(mlir::ModuleOp module);

/// LLVM's dialect. The function becomes
///     int32_t cluster(Frame *, TensorBlock **arguments, TensorBlock **results)
/// which takes the arguments over and gives 0 with results that the caller owns, or 1 without.
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);

/// The dialects that the steps go through.
void insertCodegenDialects(mlir::DialectRegistry &registry);

/// Makes the steps known as passes: rc-translate and others. They are listed in Passes.td.
void registerCodegenPasses();

} // namespace treadle::codegen
