// Converts functions in tf_executor to graphs and functions of tfg.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Whether the module has a func.func, which importTfExecutor would convert.
bool hasTfExecutor(mlir::ModuleOp module);

/// Converts every func.func of the module in place: @main becomes the tfg.graph, the others become
/// tfg.func; other operations are unchanged. Loads the required dialects. On failure, emits an
/// error and leaves the module partially converted.
///
/// - An island of one operation becomes a node. An island of several becomes nodes with control
///   edges that preserve the order of effects; all of them are dead if the island would be. A
///   function without a tf_executor.graph is read as one island.
/// - Locations name nodes. A node without a name is named after its operation: tf.Add, tf.Add1.
/// - An Enter that the loop's predicate needs in every iteration is read as constant.
/// - Arguments of @main become Placeholders. Its results are listed in the graph's
///   tf.entry_function.
mlir::LogicalResult importTfExecutor(mlir::ModuleOp module);

} // namespace treadle
