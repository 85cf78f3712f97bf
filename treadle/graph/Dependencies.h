// Internal: the nodes that runs of a graph reach.
#pragma once

#include "treadle/lowering/Lowering.h"

#include "llvm/ADT/StringSet.h"

#include <set>

namespace treadle {

/// Returns the nodes of these names (`x`, `x:0`, `^x`). InvalidArgument for a name that isn't in
/// the graph.
Expected<std::vector<mlir::Operation *>> nodesNamed(const ModuleIndex &index,
                                                    const std::vector<std::string> &names);

/// Returns the transitive dependencies of the nodes of these names, including these nodes. Errors
/// as for `nodesNamed`.
Expected<std::set<mlir::Operation *>> dependenciesOf(const ModuleIndex &index,
                                                     const std::vector<std::string> &names);

/// Returns the names of the functions that nodes call, directly or indirectly.
llvm::StringSet<> functionsCalledBy(const ModuleIndex &index,
                                    const std::set<mlir::Operation *> &nodes);

} // namespace treadle
