// Times and memory of a run, for `--stats`.
#pragma once

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
  /// Prints the phases and the process's peak memory to standard error.
  void print() const;

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last = Clock::now();
  std::vector<std::pair<std::string_view, double>> phases; // in ms
};

} // namespace treadle::cli
