// Measurements of a run.
#include "treadle/tools/cli/Stats.h"
#include "treadle/tools/cli/Perfetto.h"

#include "treadle/npy/Npy.h"

#include <cstdio>

#include <sys/resource.h>

namespace treadle::cli {

void Stats::lap(std::string_view phase) {
  Clock::time_point now = Clock::now();
  phases.emplace_back(phase, std::chrono::duration<double, std::milli>(now - last).count());
  last = now;
}

void Stats::take(const Session &from) {
  session = from.statistics().value_or(Session::Statistics());
  trace = from.trace().value_or("");
}

Expected<void> Stats::writeTrace(const std::string &path) const {
  if (trace.empty())
    return {};
  return writeFileBytes(path, isPerfettoName(path) ? TREADLE_TRY(perfettoTrace(trace)) : trace);
}

/// Prints nothing if nothing was compiled.
static void printCompiled(const Session::Statistics &s) {
  auto number = [](int64_t value) { return static_cast<long long>(value); };
  if (s.failedCompilations)
    std::fprintf(stderr, "not compiled: %lld; the last one: %s\n", number(s.failedCompilations),
                 s.lastFailure.c_str());
  int64_t found = s.memoryHits + s.diskHits;
  if (!s.compilations && !found && !s.pendingCompilations)
    return;
  std::fprintf(stderr,
               "compiled: %lld times in %.3f ms, %lld found (%lld on disk), %lld pending; "
               "%lld calls, %lld left, %lld without code\n",
               number(s.compilations), s.compileSeconds * 1e3, number(found), number(s.diskHits),
               number(s.pendingCompilations), number(s.compiledCalls), number(s.bails),
               number(s.interpretedCalls));
  std::fprintf(stderr, "its tensors: %lld made (%lld bytes, %lld as copies), %lld in place\n",
               number(s.allocations), number(s.allocatedBytes), number(s.copies), number(s.reuses));
}

void Stats::print() const {
  for (const auto &[phase, time] : phases)
    std::fprintf(stderr, "%.*s: %.3f ms\n", static_cast<int>(phase.size()), phase.data(), time);
  printCompiled(session);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  std::fprintf(stderr, "peak memory: %.1f MB\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

} // namespace treadle::cli
