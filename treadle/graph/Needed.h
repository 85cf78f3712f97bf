// Internal: what runs of a graph get to.
#pragma once

#include "treadle/lowering/Lowering.h"

#include <set>

namespace treadle {

/// What the nodes of these names (`x`, `x:0`, `^x`) need, themselves included. InvalidArgument for
/// a name that isn't in the graph.
Expected<std::set<mlir::Operation *>> neededBy(const ModuleIndex &index,
                                               const std::vector<std::string> &names);

} // namespace treadle
