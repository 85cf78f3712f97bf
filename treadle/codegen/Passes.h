// The way from tensor code to machine code, step by step. Each step is a function over the
// `func.func` of a cluster, and those that become of it; treadle-opt has them as passes.
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

/// What an op is worth: about how many operations it is once loops are made.
int64_t weightOf(mlir::Operation &op);

/// Long blocks become functions, a piece each, that share an array of words for what one computes
/// and another needs: the steps after it see one piece at a time. A cluster of less than `least`
/// operations stays as it is, and so does one that has pieces.
constexpr int64_t pieceWeight = 1000;
void outline(mlir::func::FuncOp cluster, int64_t weight = pieceWeight,
             int64_t least = 10 * pieceWeight);

/// Fusion takes more than linear time: beyond so many operations pieces are made before it.
constexpr int64_t tooLongToFuse = 30'000;

/// Tensors become references: `tensor<T>` is `!rc.ref<tensor<T>>`, linalg ops write into tensors
/// that are allocated here, constants join the table. Nothing is counted yet.
llvm::LogicalResult bufferize(mlir::ModuleOp module, std::vector<Tensor> &constants);

/// Small tensors that end where they are made lie on the stack: nobody allocates or counts them.
void placeLocally(mlir::ModuleOp module);

/// Structured control flow becomes branches, and each check one that leaves.
llvm::LogicalResult lowerControlFlow(mlir::ModuleOp module);

/// Retains and releases such that whatever is allocated or handed in is released or handed on once,
/// on every path. Works on any control flow graph.
void insertCounts(mlir::ModuleOp module);

/// Reference counts that can be told beforehand go: a retain and a release of the same value, and
/// allocations that can take over what is released.
void elideCounts(mlir::ModuleOp module);

/// Loops over elements.
llvm::LogicalResult lowerLoops(mlir::ModuleOp module);

/// LLVM's dialect. The function becomes
///     int32_t cluster(Frame *, TensorBlock **arguments, TensorBlock **results)
/// which takes the arguments over and gives 0 with results that the caller owns, or 1 without. A
/// piece becomes int32_t piece(Frame *, int64_t *words).
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);

/// The dialects that the steps go through.
void insertCodegenDialects(mlir::DialectRegistry &registry);

/// Makes the steps known as passes: rc-translate and others. They are listed in Passes.td.
void registerCodegenPasses();

} // namespace treadle::codegen
