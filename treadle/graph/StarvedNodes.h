// Internal: finds starved nodes of v1 loops among the nodes that runs reach.
#pragma once

#include "treadle/analysis/starvation/Starvation.h"
#include "treadle/lowering/Lowering.h"

namespace treadle {

/// Finds starved nodes in a module's graphs and functions, in order; at most `limit` in each.
std::vector<tfg::StarvedNode> findStarvedNodes(mlir::ModuleOp module, size_t limit);

/// Finds starved nodes among the dependencies of nodes of these names; empty if a name is missing.
std::vector<tfg::StarvedNode> findStarvedNodes(mlir::ModuleOp module, const ModuleIndex &index,
                                               const std::vector<std::string> &names);

/// Returns the error; if it reports that a loop produced no value, the starved nodes are appended.
Error withStarvedNodes(Error error, mlir::ModuleOp module, const ModuleIndex &index,
                       const std::vector<std::string> &names);

} // namespace treadle
