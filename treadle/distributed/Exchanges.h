// Internal: the collectives that a run exchanges with other processes.
#pragma once

#include "treadle/collective/Communicator.h"
#include "treadle/runtime/Graph.h"

#include "mlir/IR/BuiltinOps.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace treadle {

/// The collectives of a plan's runs, by group. Thread-safe.
struct CollectiveAgenda {
  std::vector<GroupAgenda> groups;
  CollectiveOrder order;
  std::atomic<bool> isAgreed{false}; // with the other ranks, once
};

/// Returns the collectives of a run of the graph, in graph order, with those of functions at their
/// calls: for the world of `size` ranks, and for each smaller group whose size and key are
/// constants. In a line, the text before a tab must be equal on all ranks of the group; the rest is
/// shown in messages. Returns null if there are none. The order follows from edges of the graph,
/// for collectives that certainly run once: outside of functions, loops and branches, and with an
/// instance of their own.
std::shared_ptr<CollectiveAgenda> collectiveAgenda(const GraphSpec &graph, mlir::ModuleOp module,
                                                   int size);

/// Compares the agenda with those of the other ranks before a run. The first call waits for them,
/// for at most `timeout` seconds (0: as long as the collectives would), so that potential deadlocks
/// are found before the run; later calls don't wait. Errors as for Communicator::agree.
Expected<void> agreeOnCollectives(Communicator &world, CollectiveAgenda &agenda, double timeout);

} // namespace treadle
