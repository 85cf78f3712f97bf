// Internal: what a run would fail at, known without one.
#pragma once

#include "treadle/Check.h"

#include "mlir/IR/BuiltinOps.h"

namespace treadle {

/// Makes the plan of a run that asks for these nodes, as a session does, and those of the functions
/// that it calls. An error is what refuses each such run before it computes anything, and what each
/// run fails at that reaches its node, if all reach it; a note, what fails only where it is
/// reached, and an op without a kernel, which someone may register. At most `limit`.
std::vector<Problem> findRunFaults(const Graph &graph, const std::vector<std::string> &nodes,
                                   size_t limit);

/// The same of a module that sessions take as it is.
std::vector<Problem> findRunFaults(mlir::ModuleOp module, const std::vector<std::string> &nodes,
                                   size_t limit);

} // namespace treadle
