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
  /// Of slices beyond these only the number is kept.
  static constexpr size_t maxSlices = 1'000'000;

  struct Slice {
    const std::string *name, *op; // null: an iteration of a loop that runs them in turn
    int thread;                   // from 0, in the order of their first slices
    Clock::time_point begin, end;
    int64_t iteration = 0;             // of a loop that runs them in turn, or of `loop`
    const std::string *loop = nullptr; // null: in no loop whose iterations overlap
    int32_t mostAtOnce = 1;
  };

  /// An op on the calling thread that ends now.
  void add(std::string_view name, std::string_view op, Clock::time_point begin,
           const TracedIteration *iteration = nullptr);
  /// An iteration on the calling thread that ends now.
  void addIteration(int64_t number, Clock::time_point begin);

  /// The slices so far, in the order of their ends; they stay as they are while the trace lives.
  std::vector<Slice> slices() const;
  int64_t numDropped() const;

private:
  /// Has the lock.
  void append(Slice slice);
  const std::string *kept(std::string_view text);

  mutable std::mutex mutex; // guards what follows
  std::vector<Slice> list;
  std::set<std::string, std::less<>> texts;
  std::map<std::thread::id, int> threads;
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
