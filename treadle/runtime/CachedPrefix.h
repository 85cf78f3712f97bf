// Internal to the runtime: the nodes of a sequential plan whose values are cached across runs.
#pragma once

#include "treadle/runtime/Sequential.h"
#include "treadle/runtime/Variable.h"
#include "treadle/tensor/ThreadSlots.h"

#include <mutex>
#include <span>

namespace treadle {

/// The nodes of a sequential plan that depend on constants and variables alone, such as the folded
/// factors of a batch norm. They run once, and later runs use their values as constants until one
/// of the variables is written. In a plan that may write variables itself, and in the body of a
/// loop, only nodes that depend on constants alone are cached.
///
/// Caching never changes results. It is disabled (each run computes everything) if variables change
/// too often, and for a run in which a cached node fails, so that the error occurs in program
/// order. Values that would take much more memory than their inputs aren't cached.
///
/// Thread-safe. A thread that finds its last values unchanged takes no lock and writes no shared
/// reference count.
class CachedPrefix {
public:
  /// The cached values, and the versions of the variables for which they are valid.
  struct Values;

  /// Returns the cacheable nodes of a laid-out plan; null if there are none. `graph` is the source
  /// of the plan.
  static std::shared_ptr<const CachedPrefix>
  find(const GraphSpec &graph, const SequentialPlan &plan, const PlanOptions &options);

  /// Returns the values for a run with these arguments; null if the run must compute everything.
  /// `slots` are those of the run; the slots of cached values are empty, before and after.
  std::shared_ptr<const Values> values(const SequentialPlan &plan, Tensor *slots,
                                       RunState &run) const;

  /// Returns the remaining nodes of the plan, which use the values as constants.
  static NodeList rest(const Values &values);
  /// Puts the values that are results of the plan into their slots.
  static void placeResults(const Values &values, Tensor *slots);

private:
  /// The role of a node with respect to caching.
  enum class Role : uint8_t {
    Pure,              // returns the same outputs for the same inputs
    Handle,            // returns a handle to a variable
    Reads,             // reads a variable
    WritesNoVariables, // has effects, but writes no variable
    MayWriteVariables, // may write variables
  };
  /// The cached nodes, and how the other nodes refer to their values.
  struct Layout;
  /// The values that a thread used last, and the number of runs they served.
  struct Found {
    std::shared_ptr<const Values> values;
    uint64_t uses = 0;
  };
  class Finder;

  static Role roleOf(const NodeSpec &spec, const PlanNode &node, const NodeInfo &info,
                     const OpTraitsTable *traits);
  std::shared_ptr<const Values> refresh(const SequentialPlan &plan, Tensor *slots,
                                        RunState &run) const;
  std::shared_ptr<const Values> compute(const SequentialPlan &plan, Tensor *slots,
                                        RunState &run) const;
  std::shared_ptr<Values> evaluate(const SequentialPlan &plan, Tensor *slots, RunState &run) const;
  bool excludeForeignReads(const Values &values) const;
  bool excludeLargeValues(const SequentialPlan &plan, const Values &values,
                          const Tensor *slots) const;
  void disable() const { isDisabled.store(true, std::memory_order_relaxed); }

  ThreadSlots<Found> found;
  mutable std::atomic<bool> hasRunBefore{false}, isDisabled{false};
  mutable std::mutex mutex;
  mutable std::vector<Role> roles;              // guarded by it; by node of the graph
  mutable std::shared_ptr<const Layout> layout; // guarded by it
  mutable std::shared_ptr<const Values> kept;   // guarded by it
  mutable int failures = 0;                     // guarded by it
};

} // namespace treadle
