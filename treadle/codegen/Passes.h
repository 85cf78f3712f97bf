// The lowering steps from tensor code to the LLVM dialect. Each step is a function on the module of
// a cluster (`func.func` and its pieces) and is available as a pass in treadle-opt.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "treadle/tensor/Tensor.h"

namespace treadle::codegen {

/// Hoists loop-invariant ops out of loops, including kernel calls.
void hoistInvariants(mlir::ModuleOp module);

/// Lets each element of loop variables run a loop on its own where elements are independent, as
/// those of `jax.vmap` of a loop: its state stays in registers.
void interchangeLoops(mlir::ModuleOp module);

/// Fuses elementwise ops with the producers of their operands, unless that repeats work.
llvm::LogicalResult fuseElementwise(mlir::ModuleOp module);

/// Estimates the number of operations that an op expands to.
int64_t weightOf(mlir::Operation &op);

/// Splits long blocks into functions, called pieces, that share an array of slots for values used
/// across pieces; later steps see one piece at a time. Leaves clusters with less than `least`
/// operations unchanged, and those that already have pieces.
constexpr int64_t pieceWeight = 500;
void outline(mlir::func::FuncOp cluster, int64_t weight = pieceWeight,
             int64_t least = 3 * pieceWeight);

/// Fusion is superlinear: for larger clusters, pieces are made before it.
constexpr int64_t maxFusionWeight = 30'000;

/// Converts tensors to references: `tensor<T>` becomes `!rc.ref<tensor<T>>`, linalg ops write into
/// tensors that are allocated here, and constants move to the table. References aren't counted yet.
llvm::LogicalResult bufferize(mlir::ModuleOp module, std::vector<Tensor> &constants);

/// Moves small tensors that don't escape to the stack, without allocation and counting.
void placeLocally(mlir::ModuleOp module);

/// Lowers structured control flow to branches, and each check to a conditional exit.
llvm::LogicalResult lowerControlFlow(mlir::ModuleOp module);

/// Inserts retains and releases, so that every allocated or received reference is released or
/// passed on exactly once on each path. Works on any control flow graph.
void insertCounts(mlir::ModuleOp module);

/// Elides reference counting: removes pairs of a retain and a release of the same value, and lets
/// allocations reuse released buffers.
void elideCounts(mlir::ModuleOp module);

/// Lowers ops to loops over elements.
llvm::LogicalResult lowerLoops(mlir::ModuleOp module);

/// Lowers to the LLVM dialect. The function becomes
///     int32_t cluster(CallFrame *, TensorBlock **arguments, TensorBlock **results)
/// which consumes the arguments and returns 0 with results that the caller owns, or 1 without. A
/// piece becomes int32_t piece(CallFrame *, int64_t *words).
llvm::LogicalResult lowerToLlvm(mlir::ModuleOp module);

/// Registers the dialects that the steps use.
void insertCodegenDialects(mlir::DialectRegistry &registry);

/// Registers the steps as passes: rc-translate and others. Passes.td lists them.
void registerCodegenPasses();

} // namespace treadle::codegen
