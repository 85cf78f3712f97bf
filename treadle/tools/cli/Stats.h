// Measurements of a run: times, memory and use of compiled code for `--stats`, a timeline for
// `--trace`.
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
  /// Ends the phase that began at the previous lap.
  void lap(std::string_view phase);
  /// Takes the statistics and the trace of a session, if it collected them.
  void take(const Session &session);
  /// Prints the phases, the use of compiled code, and the peak memory of the process to standard
  /// error.
  void print() const;
  /// Writes the trace, if there is one.
  Expected<void> writeTrace(const std::string &path) const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  std::vector<std::pair<std::string_view, double>> phases; // in ms
  Session::Statistics session;
  std::string trace; // empty: no trace
};

} // namespace treadle::cli
