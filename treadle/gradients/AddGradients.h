// Adds gradients of a graph's values to the graph.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::tfg {

struct GradientsRequest {
  llvm::SmallVector<mlir::Value> ys;
  /// The incoming gradient of each y, null for ones; or empty.
  llvm::SmallVector<mlir::Value> dys;
  llvm::SmallVector<mlir::Value> xs;
  /// Gradients don't flow from these values to their inputs.
  llvm::SmallVector<mlir::Value> stops;
};

/// Adds nodes to a body that compute the sum, over the ys, of the gradients with respect to each x:
/// null if no y depends on it, or if its dtype has no gradients. If an x is the handle of a
/// variable, the gradient is with respect to its value. Nodes that call functions are replaced by
/// nodes of the same names with more results, so values in the request may be invalid afterwards.
/// Unimplemented, with the node, if an op on the path has no gradient; the module must be discarded
/// then.
Expected<llvm::SmallVector<mlir::Value>> addGradients(mlir::ModuleOp module, mlir::Block &body,
                                                      const GradientsRequest &request);

} // namespace treadle::tfg
