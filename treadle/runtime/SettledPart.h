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
/// of the variables is written. Plans that may write variables themselves have no such part.
///
/// Runs are right without it. So it gives up (each run computes everything) where variables change
/// all the time, where the values would take more memory than what they are made of, and in a run
/// in which one of its nodes fails: that one is to fail in its own place.
///
/// Immutable but for what it keeps. Thread-safe: a thread that finds the values that it found
/// before takes no lock, and counts no references that others do.
class SettledPart {
public:
  /// What the nodes gave, and when that holds.
  struct Values;

  /// The part of a plan that is laid out; null if there is nothing to gain. `graph`: what the plan
  /// was made of, whose nodes the plan's `programOrder` numbers.
  static std::shared_ptr<const SettledPart> find(const GraphSpec &graph, const Plan &plan,
                                                 const OpTraitsTable *traits);

  /// The values for a run with these arguments; null if the run has to compute everything. `slots`
  /// are the run's; those of the part are empty, before and after.
  std::shared_ptr<const Values> values(const Plan &plan, Tensor *slots, RunState &run) const;

  /// The rest of the plan, to which the values are constants.
  NodeList rest(const Values &values) const;
  /// Puts the values that are results of the plan into their slots.
  void placeResults(const Values &values, Tensor *slots) const;

private:
  /// A variable that the part reads.
  struct Read {
    uint32_t handleSlot;
    bool isArgument; // else the handle is one of the part's own values
  };
  /// What a thread found, and how often it served.
  struct Found {
    std::shared_ptr<const Values> values;
    uint64_t uses = 0;
  };
  class Finder;

  std::shared_ptr<const Values> renew(const Plan &plan, Tensor *slots, RunState &run) const;
  std::shared_ptr<const Values> compute(const Plan &plan, Tensor *slots, RunState &run) const;
  bool lookUpVariables(const Tensor *slots, Values &made) const;
  bool hold(const Values &values, const Tensor *slots, const RunState &run) const;
  void giveUp() const { isHopeless.store(true, std::memory_order_relaxed); }

  std::vector<PlanNode> handleNodes, settledNodes, restNodes;
  std::vector<uint32_t> indices;      // of all inputs, where PlanNode::inputBegin says
  std::vector<uint32_t> ownSlots;     // of all of the part's values
  std::vector<uint32_t> givenSlots;   // of the values that others use, by number
  std::vector<uint32_t> resultSlots;  // of those that are results, ...
  std::vector<uint32_t> resultValues; // ... by their numbers
  std::vector<Read> reads;

  ThreadSlots<Found> found;
  mutable std::atomic<bool> isAskedAgain{false}, isHopeless{false};
  mutable std::mutex mutex; // guards what follows
  mutable std::shared_ptr<const Values> kept;
  mutable int disappointments = 0;
};

} // namespace treadle
