// Programs in stablehlo, mhlo and chlo become graphs and functions of tfg.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// A custom call by which a program calls a function of the graph that it is in.
inline constexpr llvm::StringLiteral callTfFunction = "tf.call_tf_function";
/// Its attribute that names the function.
inline constexpr llvm::StringLiteral calledFunctionKey = "treadle.function";

/// Whether a function of the module has operations of these dialects.
bool hasStableHlo(mlir::ModuleOp module);

/// Whether what the op of such a program does depends on which device does it, or on others.
bool dependsOnDevice(mlir::Operation *op);

/// Converts every func.func in place: @main (or the only public one) becomes the tfg.graph, what it
/// calls becomes tfg.func or part of the caller; regions of loops and conditionals become
/// functions. On failure an error is emitted (`unimplemented: ...` for an operation without a
/// conversion), and the module is in between.
///
/// - Arguments of @main are Placeholders, its results Identity nodes: `arg0`, ..., and `result`, or
///   `result_0`, ... where there are several. Other names are read from `tfg.name`. The graph's
///   `tf.entry_function` lists them, with the function's name: it is a signature.
/// - An op becomes the nodes of TensorFlow's ops that compute the same; where TensorFlow's own
///   semantics differ (division by zero, shifts by too much, conversion of what doesn't fit),
///   several that together do what the StableHLO specification says.
/// - Functions that are called with whole tensors instead of scalars (of reductions, scatters,
/// sorts)
///   have values of unknown rank.
mlir::LogicalResult importStableHlo(mlir::ModuleOp module);

/// The same, but the entry becomes a tfg.func: its name. No function gets a name that is `taken`.
mlir::FailureOr<std::string> importStableHloFunctions(mlir::ModuleOp module,
                                                      llvm::ArrayRef<std::string> taken);

/// @main, or the only function that isn't private, of a program that isn't converted yet. Emits an
/// error if there is none.
mlir::FailureOr<mlir::func::FuncOp> entryOf(mlir::ModuleOp program);

} // namespace treadle
