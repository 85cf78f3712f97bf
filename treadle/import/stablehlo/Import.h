// Converts programs in stablehlo, mhlo and chlo to graphs and functions of tfg.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// A custom call that calls a function of the graph that contains the program.
inline constexpr llvm::StringLiteral callTfFunction = "tf.call_tf_function";
/// The custom call's attribute with the function's name.
inline constexpr llvm::StringLiteral calledFunctionKey = "treadle.function";

/// Whether a function of the module has operations of these dialects.
bool hasStableHlo(mlir::ModuleOp module);

/// Whether the op's behavior depends on the device that executes it, or on other devices.
bool dependsOnDevice(mlir::Operation *op);

/// Converts every func.func in place: @main (or the only public one) becomes the tfg.graph, its
/// callees become tfg.func or are inlined; regions of loops and conditionals become functions. On
/// failure, emits an error (`unimplemented: ...` for an operation without a conversion) and leaves
/// the module partially converted.
///
/// - Arguments of @main become Placeholders, its results Identity nodes: `arg0`, ..., and `result`,
///   or `result_0`, ... if there are several. `tfg.name` overrides these names. The graph's
///   `tf.entry_function` lists them and the function's name: it is a signature.
/// - An op becomes the equivalent TensorFlow ops; if TensorFlow's semantics differ (division by
///   zero, large shifts, conversions out of range), several nodes together implement the StableHLO
///   specification.
/// - Functions that are called with whole tensors instead of scalars (of reductions, scatters,
///   sorts) have values of unknown rank.
mlir::LogicalResult importStableHlo(mlir::ModuleOp module);

/// Like `importStableHlo`, but converts the entry to a tfg.func and returns its name. No function
/// gets a name in `taken`.
mlir::FailureOr<std::string> importStableHloFunctions(mlir::ModuleOp module,
                                                      llvm::ArrayRef<std::string> taken);

/// Returns @main, or the only function that isn't private, of an unconverted program. Emits an
/// error if there is none.
mlir::FailureOr<mlir::func::FuncOp> entryOf(mlir::ModuleOp program);

} // namespace treadle
