// Measuring.
#include "treadle/tools/cli/Stats.h"

#include <cstdio>

#include <sys/resource.h>

namespace treadle::cli {

void Stats::lap(std::string_view phase) {
  Clock::time_point now = Clock::now();
  phases.emplace_back(phase, std::chrono::duration<double, std::milli>(now - last).count());
  last = now;
}

void Stats::print() const {
  for (const auto &[phase, time] : phases)
    std::fprintf(stderr, "%.*s: %.3f ms\n", static_cast<int>(phase.size()), phase.data(), time);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::fprintf(stderr, "peak memory: %.1f MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

} // namespace treadle::cli
