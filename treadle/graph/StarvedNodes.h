// Internal: nodes of v1 loops that starve, in what runs get to.
#pragma once

#include "treadle/analysis/starvation/Starvation.h"
#include "treadle/lowering/Lowering.h"

namespace treadle {

/// Of a module's graphs and functions, in their order; at most `limit` of each.
std::vector<tfg::StarvedNode> findStarvedNodes(mlir::ModuleOp module, size_t limit);

/// Of what a run needs that asks for nodes of these names; none if one of them isn't there.
std::vector<tfg::StarvedNode> findStarvedNodes(mlir::ModuleOp module, const ModuleIndex &index,
                                               const std::vector<std::string> &names);

/// The error; if it says that a loop of the run gave no value, with the nodes that starve.
Error withStarvedNodes(Error error, mlir::ModuleOp module, const ModuleIndex &index,
                       const std::vector<std::string> &names);

} // namespace treadle
