// Internal: predicts the errors of a run without executing it.
#pragma once

#include "treadle/Check.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Builds the plan of a run that requests these nodes, as a session does, and the plans of the
/// functions that it calls. Returns errors for what makes every such run fail: when it is planned,
/// or at a node that every run reaches. Returns notes for nodes that fail only if they are reached,
/// and for ops without a kernel, since the user may register one. At most `limit` problems.
std::vector<Problem> findRunFaults(const Graph &graph, const std::vector<std::string> &nodes,
                                   size_t limit);

/// Like the overload above, but for a module that is already in the form that sessions take.
std::vector<Problem> findRunFaults(mlir::ModuleOp module, const std::vector<std::string> &nodes,
                                   size_t limit);

} // namespace treadle
