// Functions in tf_executor become graphs and functions of tfg.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Whether the module has a func.func, which importTfExecutor would convert.
bool hasTfExecutor(mlir::ModuleOp module);

/// Converts every func.func of the module in place: @main becomes the tfg.graph, the others become
/// tfg.func; other operations stay as they are. Loads the dialects it needs. On failure an error
/// is emitted, and the module is in between.
///
/// - An island of one operation is a node; what an island of several does in order is several nodes
///   with the control edges that keep the order of effects, all of them dead where the island would
///   be. A function without a tf_executor.graph is read as one island.
/// - Locations name nodes. A node without a name is called by its operation: tf.Add, tf.Add1.
/// - An Enter without which the loop's predicate can't be computed again is read as constant.
/// - Arguments of @main are Placeholders. Its results are listed in the graph's tf.entry_function.
mlir::LogicalResult importTfExecutor(mlir::ModuleOp module);

} // namespace treadle
