// What a command that takes long is doing: a line on the terminal that stays while it does it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace treadle::cli {

/// While it lives, and once it has lived for a second, standard error shows
/// `loading model [#####-----] 50% 3 s`. Shows nothing where standard error is no terminal.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// How much of it is done, from 0 to 1. Without it the line has the time only.
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

/// The line after `seconds`; `share` below 0: unknown.
std::string progressText(const std::string &what, double share, double seconds);

} // namespace treadle::cli
