// Internal to the runtime: the part of a sequential plan that needn't be computed in each run.
#pragma once

#include "treadle/runtime/Sequential.h"
#include "treadle/runtime/Variable.h"
#include "treadle/tensor/ThreadSlots.h"

#include <mutex>
#include <span>

namespace treadle {

/// The nodes of a sequential plan that depend on constants and variables alone, as the factors of a
/// batch norm do. They run once; their values are then constants of the runs that follow, until one
/// of the variables is written. In a plan that may write variables itself, and in the body of a
/// loop, only what depends on constants alone is of the part.
///
/// Runs are right without it. So it gives up (each run computes everything) where variables change
/// all the time, and in a run in which one of its nodes fails: that one is to fail in its own
/// place. Values that would take more memory than what they are made of are left to the runs.
///
/// Thread-safe: a thread that finds the values that it found before takes no lock, and counts no
/// references that others do.
class SettledPart {
public:
  /// What the nodes gave, and when that holds.
  struct Values;

  /// The part of a plan that is laid out; null if there is nothing to gain. `graph`: what the plan
  /// was made of.
  static std::shared_ptr<const SettledPart> find(const GraphSpec &graph, const SequentialPlan &plan,
                                                 const PlanOptions &options);

  /// The values for a run with these arguments; null if the run has to compute everything. `slots`
  /// are the run's; those of the part are empty, before and after.
  std::shared_ptr<const Values> values(const SequentialPlan &plan, Tensor *slots,
                                       RunState &run) const;

  /// The rest of the plan, to which the values are constants.
  static NodeList rest(const Values &values);
  /// Puts the values that are results of the plan into their slots.
  static void placeResults(const Values &values, Tensor *slots);

private:
  /// What a node is to the part.
  enum class Role : uint8_t {
    Pure,     // gives the same for the same inputs
    Handle,   // gives a handle to a variable
    Reads,    // reads a variable
    Harmless, // does something, but writes no variable
    Foreign,  // may write variables
  };
  /// Which nodes are of the part, and how the others refer to what they give.
  struct Layout;
  /// What a thread found, and how often it served.
  struct Found {
    std::shared_ptr<const Values> values;
    uint64_t uses = 0;
  };
  class Finder;

  static Role roleOf(const NodeSpec &spec, const PlanNode &node, const NodeInfo &info,
                     const OpTraitsTable *traits);
  std::shared_ptr<const Values> renew(const SequentialPlan &plan, Tensor *slots,
                                      RunState &run) const;
  std::shared_ptr<const Values> compute(const SequentialPlan &plan, Tensor *slots,
                                        RunState &run) const;
  std::shared_ptr<Values> evaluate(const SequentialPlan &plan, Tensor *slots, RunState &run) const;
  bool leaveOutForeign(const Values &values) const;
  bool leaveOutLarge(const SequentialPlan &plan, const Values &values, const Tensor *slots) const;
  void disable() const { isDisabled.store(true, std::memory_order_relaxed); }

  ThreadSlots<Found> found;
  mutable std::atomic<bool> isAskedAgain{false}, isDisabled{false};
  mutable std::mutex mutex;
  mutable std::vector<Role> roles;              // guarded by it; by node of the graph
  mutable std::shared_ptr<const Layout> layout; // guarded by it
  mutable std::shared_ptr<const Values> kept;   // guarded by it
  mutable int failures = 0;                     // guarded by it
};

} // namespace treadle
