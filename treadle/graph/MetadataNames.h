// The names by which a SavedModel's metadata refers to its graph. Passes must keep them.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <set>
#include <string>

namespace treadle {

struct MetadataNames {
  /// Nodes of the graph that signatures, savers, collections and assets refer to.
  std::set<std::string> nodes;
  /// Functions that are methods of the model's objects.
  std::set<std::string> functions;
};

/// Collects the names of one of metaGraphs(module).
Expected<MetadataNames> metadataNames(mlir::ModuleOp metaGraph);

/// InvalidArgument for the first of the names that is missing.
Expected<void> verifyNamesExist(mlir::ModuleOp metaGraph, const MetadataNames &names);

} // namespace treadle
