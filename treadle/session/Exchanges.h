// Internal to the session folder: what a run exchanges with the other processes.
#pragma once

#include "treadle/collective/Communicator.h"
#include "treadle/runtime/Graph.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace treadle {

/// Compares the collectives that a run of the graph comes to with those of the other ranks, and
/// waits for these: ranks that would wait for each other learn it before they run. Errors as those
/// of Communicator::agree.
Expected<void> agreeOnCollectives(Communicator &world, const GraphSpec &graph,
                                  mlir::ModuleOp module);

/// A line for each collective that all ranks of a world of `size` take part in, in the order of the
/// graph, those of functions where they are called: what must be the same on all ranks, then a tab
/// and what messages show beside it.
std::vector<std::string> collectiveLines(const GraphSpec &graph, mlir::ModuleOp module, int size);

} // namespace treadle
