// Explores all schedules of a small graph, to find whether the outcome of a run can depend on the
// order of nodes with effects.
#pragma once

#include "treadle/reference/Interpreter.h"

#include <functional>
#include <memory>

namespace treadle::reference {

/// A run that the explorer can repeat, and its outcome.
class Experiment {
public:
  virtual ~Experiment() = default;
  /// Starts a run: returns an interpreter in its initial state, and resets all external state.
  virtual Interpreter &begin() = 0;
  /// Whether the order of two firings matters, given their nodes.
  virtual bool conflict(int32_t a, int32_t b) const = 0;
  /// Whether to continue the current run after `firings` firings; otherwise the exploration ends.
  virtual bool shouldContinue(size_t firings) = 0;
  /// Describes the observable outcome of the finished run; equal outcomes have equal texts.
  virtual std::string outcome() = 0;
  /// The error of the run, if it failed. It isn't compared: which of several errors comes first may
  /// differ.
  virtual std::string failure() { return ""; }
};

struct Schedule {
  std::vector<Instance> instances;
  std::string outcome, failure;
};

struct Findings {
  int64_t schedules = 0;    // explored schedules; those that differ only in the order of
                            // independent firings count once
  bool isComplete = true;   // false: the limit was reached
  bool isAmbiguous = false; // values met at a Merge, or left a frame twice
  bool isRandom = false;    // one schedule had two outcomes
  /// Two schedules with different outcomes, chosen to differ as little as possible; empty if there
  /// are none.
  std::vector<Schedule> difference;
};

/// Runs one schedule of each class of equivalent schedules, i.e. those with the same order of
/// conflicting firings, but at most `limit`. Uses dynamic partial-order reduction with source sets
/// and sleep sets (Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order reduction",
/// 2014).
Findings explore(Experiment &experiment, int64_t limit);

} // namespace treadle::reference
