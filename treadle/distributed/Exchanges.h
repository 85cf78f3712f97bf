// Internal: what a run exchanges with the other processes.
#pragma once

#include "treadle/collective/Communicator.h"
#include "treadle/runtime/Graph.h"

#include "mlir/IR/BuiltinOps.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace treadle {

/// What a plan's runs come to, by group. Thread-safe.
struct CollectiveAgenda {
  std::vector<GroupAgenda> groups;
  CollectiveOrder order;
  std::atomic<bool> isAgreed{false}; // with the other ranks, once
};

/// The collectives that a run of the graph comes to, in the order of the graph, those of functions
/// where they are called: for the world of `size` ranks and for each smaller group whose size and
/// key the graph's constants tell. What must be the same on all ranks of a group stands before a
/// tab in a line, what messages show beside it after it. Null where there are none. The order is
/// what edges of the graph say, of collectives that surely run once: outside of functions, loops
/// and branches, and of an instance of their own.
std::shared_ptr<CollectiveAgenda> collectiveAgenda(const GraphSpec &graph, mlir::ModuleOp module,
                                                   int size);

/// Compares the agenda with the other ranks' before a run. The first time it waits for these, so
/// that ranks that would wait for each other learn it before they run, for `timeout` seconds at
/// most (0: as long as the collectives would); later it only tells them. Errors as those of
/// Communicator::agree.
Expected<void> agreeOnCollectives(Communicator &world, CollectiveAgenda &agenda, double timeout);

} // namespace treadle
