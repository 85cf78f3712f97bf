// Internal: what runs of a graph get to.
#pragma once

#include "treadle/lowering/Lowering.h"

#include "llvm/ADT/StringSet.h"

#include <set>

namespace treadle {

/// The nodes of these names (`x`, `x:0`, `^x`). InvalidArgument for a name that isn't in the graph.
Expected<std::vector<mlir::Operation *>> nodesNamed(const ModuleIndex &index,
                                                    const std::vector<std::string> &names);

/// What the nodes of these names need, themselves included. Errors as of `nodesNamed`.
Expected<std::set<mlir::Operation *>> neededBy(const ModuleIndex &index,
                                               const std::vector<std::string> &names);

/// The names of functions that nodes call, and that those call.
llvm::StringSet<> calledBy(const ModuleIndex &index, const std::set<mlir::Operation *> &nodes);

} // namespace treadle
