// All schedules of a small graph: whether what a run gives can depend on the order in which nodes
// with effects take place.
#pragma once

#include "treadle/reference/Machine.h"

#include <functional>
#include <memory>

namespace treadle::reference {

/// A run that the explorer can begin again and again, and what it gave.
class Experiment {
public:
  virtual ~Experiment() = default;
  /// A machine at the beginning of a run, everything outside of it as it was before the first.
  virtual Machine &begin() = 0;
  /// Whether the order of two firings matters, by node.
  virtual bool conflict(int32_t a, int32_t b) const = 0;
  /// Whether to go on with the run that `begin` began, after so many firings, or else to explore no
  /// further.
  virtual bool goesOn(size_t firings) = 0;
  /// What can be seen of the run that `begin` began, now that it is over; equal texts are equal.
  virtual std::string outcome() = 0;
  /// Why that run failed, if it did. Nothing is concluded from it: of several failures, which one
  /// comes first may differ.
  virtual std::string failure() { return ""; }
};

struct Schedule {
  std::vector<Instance> instances;
  std::string outcome, failure;
};

struct Findings {
  int64_t schedules = 0;    // that were run; one for all that differ only where nothing conflicts
  bool isComplete = true;   // false: there are more than the limit
  bool isAmbiguous = false; // values met at a Merge, or left a frame twice
  bool isRandom = false;    // one schedule gave two things
  /// Two schedules with different outcomes, of those with the least between them; or none.
  std::vector<Schedule> difference;
};

/// Runs one schedule of each class of schedules that keep the order of conflicting firings (dynamic
/// partial-order reduction; Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order
/// reduction", 2014, with source sets and sleep sets), at most `limit`.
Findings explore(Experiment &experiment, int64_t limit);

} // namespace treadle::reference
