// What was measured of a run: times, memory and what compiled code did, for `--stats`; what ran
// when, for `--trace`.
#pragma once

#include "treadle/treadle.h"

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle::cli {

class Stats {
public:
  /// Ends a phase that began at the lap before.
  void lap(std::string_view phase);
  /// Takes what the session counted and traced, if it was made to.
  void take(const Session &session);
  /// Prints the phases, what compiled code did, and the process's peak memory to standard error.
  void print() const;
  /// Writes the trace, if there is one.
  Expected<void> writeTrace(const std::string &path) const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  std::vector<std::pair<std::string_view, double>> phases; // in ms
  Session::Statistics session;
  std::string trace; // empty: none
};

} // namespace treadle::cli
