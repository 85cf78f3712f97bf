// What ran when: slices of time, for people to look at.
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

/// An iteration of a loop whose iterations may overlap: `loop` names the loop, and for a loop in a
/// loop the iterations that it is in.
struct TracedIteration {
  std::string loop;
  int64_t number;
  int32_t mostAtOnce; // as many iterations overlap
};

/// The slices of a session's runs. Thread-safe.
class Trace {
public:
  using Clock = std::chrono::steady_clock;
  /// The time, where there is a trace; what isn't traced looks at no clock.
  static Clock::time_point now(const Trace *trace) {
    return trace ? Clock::now() : Clock::time_point();
  }
  /// Of slices beyond these only the number is kept.
  static constexpr size_t maxSlices = 1'000'000;

  struct Slice {
    const std::string *name, *op; // null: an iteration of a loop that runs them in turn
    int thread;                   // from 0, in the order of their first slices
    Clock::time_point begin, end;
    int64_t iteration = 0;             // of a loop that runs them in turn, or of `loop`
    const std::string *loop = nullptr; // null: in no loop whose iterations overlap
    int32_t mostAtOnce = 1;
    int64_t bytes = 0;                    // of the results
    Clock::duration waited{};             // of its time
    const std::string *cluster = nullptr; // of a part that may be compiled: what is in it
    bool isCompiled = false;              // machine code ran it
    Clock::duration cost{};               // of writing this down, after its end
    const std::string *where = nullptr;   // the function; null: the graph
  };
  /// What an op did, apart from when.
  struct Work {
    int64_t bytes = 0;
    Clock::duration waited{};
  };

  /// An op on the calling thread that ends now; `where`: its function, empty: the graph.
  void add(std::string_view name, std::string_view op, std::string_view where,
           Clock::time_point begin, Work work, const TracedIteration *iteration = nullptr);
  /// The op on the calling thread whose slice is added next is a part that may be compiled.
  void noteCluster(std::string_view contents, bool isCompiled);
  /// An iteration on the calling thread that ends now.
  void addIteration(int64_t number, Clock::time_point begin);
  /// An op that waited since `begin` without holding a thread.
  void addWait(std::string_view name, std::string_view op, Clock::time_point begin, int64_t bytes);
  /// A run that ends now.
  void addRun(Clock::time_point begin);
  /// Begins anew.
  void clear();

  /// The slices so far, in the order of their ends; texts stay as they are while the trace lives.
  std::vector<Slice> slices() const;
  int64_t numDropped() const;
  /// Waits without a thread, by name and op.
  struct Waits {
    Clock::duration time{};
    int64_t bytes = 0;
  };
  std::map<std::pair<std::string, std::string>, Waits> waits() const;
  struct Wait {
    const std::string *name, *op;
    Clock::time_point begin, end;
  };
  /// The first `maxSlices` of them, one by one, in the order of their ends.
  std::vector<Wait> eachWait() const;
  struct Runs {
    int64_t number = 0;
    Clock::duration time{};
  };
  Runs runs() const;

private:
  /// Has the lock.
  void append(Slice slice);
  const std::string *kept(std::string_view text);

  mutable std::mutex mutex; // guards what follows
  std::vector<Slice> list;
  std::set<std::string, std::less<>> texts;
  std::map<std::thread::id, int> threads;
  std::map<std::thread::id, std::pair<const std::string *, bool>> clusters; // to come
  std::map<std::pair<std::string, std::string>, Waits> allWaits;
  std::vector<Wait> waitList;
  Runs allRuns;
  int64_t dropped = 0;
};

/// Adds an iteration from its construction to its destruction; does nothing without a trace.
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
