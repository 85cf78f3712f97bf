// A progress line on the terminal for commands that take long.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace treadle::cli {

/// Shows `loading model [#####-----] 50% 3 s` on standard error from one second after construction
/// until destruction. Shows nothing if standard error is not a terminal.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Sets the completed fraction, from 0 to 1. The line has only the time if it was never set.
  void set(double share) { done.store(share, std::memory_order_relaxed); }

private:
  void show();

  const std::string what;
  std::atomic<double> done{-1};
  std::mutex mutex;
  std::condition_variable ended;
  bool hasEnded = false;
  std::thread thread;
};

/// Returns the line after `seconds`; `share` below 0 means unknown.
std::string progressText(const std::string &what, double share, double seconds);

} // namespace treadle::cli
