// Gradients of values of a graph, added to it.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle::tfg {

struct GradientsRequest {
  llvm::SmallVector<mlir::Value> ys;
  /// For each y, or none at all: what flows from it; null: ones.
  llvm::SmallVector<mlir::Value> dys;
  llvm::SmallVector<mlir::Value> xs;
  /// Nothing flows through these to what they are computed from.
  llvm::SmallVector<mlir::Value> stops;
};

/// Adds nodes to a body that compute the sum, over the ys, of the gradients with respect to each x:
/// null where no y depends on it, or where it is of a dtype that has none. An x that is the handle
/// of a variable stands for what is read of it. Nodes that run functions are replaced, under their
/// names, by ones with more results: values of the request may be gone afterwards. Unimplemented,
/// with the node, where an op on the way has no gradient; the module is to be thrown away then.
Expected<llvm::SmallVector<mlir::Value>> addGradients(mlir::ModuleOp module, mlir::Block &body,
                                                      const GradientsRequest &request);

} // namespace treadle::tfg
