// What a SavedModel knows of its graph from outside: passes must leave it.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace treadle {

struct OutsideNames {
  /// Nodes of the graph that signatures, savers, collections and assets name.
  std::set<std::string> nodes;
  /// Functions that the objects of the model have as methods.
  std::set<std::string> functions;
};

/// Of one of metaGraphs(module).
Expected<OutsideNames> outsideNames(mlir::ModuleOp metaGraph);

/// InvalidArgument for the first of the names that is gone.
Expected<void> checkAllThere(mlir::ModuleOp metaGraph, const OutsideNames &names);

} // namespace treadle
