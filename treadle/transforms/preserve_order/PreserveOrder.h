// Additional dependencies between nodes, requested by a user or a pass.
#pragma once

#include "treadle/dialect/Tfg.h"
#include "treadle/tensor/Error.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace treadle::tfg {

/// The names of a node and of the node that it must follow.
struct Following {
  std::string node, after;
};

/// Adds a control input, or with `soft` a soft edge, for each element. Existing edges stay, and
/// none is duplicated. Returns NotFound for a name without a node in the body, and InvalidArgument
/// if an edge would close a cycle; nothing has changed then. Soft edges that would close a cycle
/// are skipped and returned.
Expected<std::vector<Following>> preserveOrder(mlir::Block &body, llvm::ArrayRef<Following> order,
                                               bool soft);

} // namespace treadle::tfg
