// Traces: slices of time that show what ran when.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace treadle {

/// An iteration of a loop with overlapping iterations. `loop` names the loop and, for a nested
/// loop, the iterations of the enclosing ones.
struct TracedIteration {
  std::string loop;
  int64_t number;
  int32_t maxConcurrent; // maximum number of overlapping iterations
};

/// The slices of a session's runs. Thread-safe.
class Trace {
public:
  using Clock = std::chrono::steady_clock;
  /// The current time if `trace` isn't null. Runs without a trace don't read the clock.
  static Clock::time_point now(const Trace *trace) {
    return trace ? Clock::now() : Clock::time_point();
  }
  /// Further slices are only counted.
  static constexpr size_t maxSlices = 1'000'000;

  struct Slice {
    const std::string *name, *op; // null: an iteration of a sequential loop
    int thread;                   // numbered from 0, in the order of their first slices
    Clock::time_point begin, end;
    int64_t iteration = 0;             // of a sequential loop, or of `loop`
    const std::string *loop = nullptr; // null if not in a loop with overlapping iterations
    int32_t maxConcurrent = 1;
    int64_t bytes = 0;                    // of the results
    Clock::duration waited{};             // part of its time that the op waited
    const std::string *cluster = nullptr; // contents of a cluster; null for other ops
    bool isCompiled = false;              // ran as compiled code
    Clock::duration cost{};               // time spent on recording the slice, after its end
    const std::string *where = nullptr;   // name of the function; null for the top-level graph
  };
  /// The work of an op, without its times.
  struct Work {
    int64_t bytes = 0;
    Clock::duration waited{};
  };

  /// Records an op on the calling thread that ends now. `where` is its function; empty for the
  /// graph.
  void add(std::string_view name, std::string_view op, std::string_view where,
           Clock::time_point begin, Work work, const TracedIteration *iteration = nullptr);
  /// Marks the next slice of the calling thread as a cluster.
  void noteCluster(std::string_view contents, bool isCompiled);
  /// Records an iteration on the calling thread that ends now.
  void addIteration(int64_t number, Clock::time_point begin);
  /// Records an op that was suspended since `begin`.
  void addWait(std::string_view name, std::string_view op, Clock::time_point begin, int64_t bytes);
  /// Records a run that ends now.
  void addRun(Clock::time_point begin);
  /// Removes all slices.
  void clear();

  /// Returns the slices so far, ordered by their ends. Texts stay valid while the trace lives.
  std::vector<Slice> slices() const;
  int64_t numDropped() const;
  /// Suspended ops, totalled by name and op.
  struct Waits {
    Clock::duration time{};
    int64_t bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Waits> waits() const;
  struct Wait {
    const std::string *name, *op;
    Clock::time_point begin, end;
  };
  /// Returns the first `maxSlices` waits, ordered by their ends.
  std::vector<Wait> eachWait() const;
  struct Runs {
    int64_t number = 0;
    Clock::duration time{};
  };
  Runs runs() const;

private:
  /// Requires the lock.
  void append(Slice slice);
  const std::string *kept(std::string_view text);

  mutable std::mutex mutex; // guards the following members
  std::vector<Slice> list;
  std::set<std::string, std::less<>> texts;
  std::map<std::thread::id, int> threads;
  // clusters whose slices are yet to come
  std::map<std::thread::id, std::pair<const std::string *, bool>> clusters;
  std::map<std::pair<std::string, std::string>, Waits> allWaits;
  std::vector<Wait> waitList;
  Runs allRuns;
  int64_t dropped = 0;
};

/// Records an iteration from its construction to its destruction; does nothing without a trace.
class TracedScope {
public:
  TracedScope(Trace *trace, int64_t iteration) : trace(trace), iteration(iteration) {
    if (trace) [[unlikely]]
      begin = Trace::Clock::now();
  }
  TracedScope(const TracedScope &) = delete;
  TracedScope &operator=(const TracedScope &) = delete;
  ~TracedScope() {
    if (trace) [[unlikely]]
      trace->addIteration(iteration, begin);
  }

private:
  Trace *const trace;
  const int64_t iteration;
  Trace::Clock::time_point begin;
};

} // namespace treadle
