// Internal to sessions and to code that runs plans without one.
#pragma once

#include "treadle/runtime/Run.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace treadle {

/// Stops a run when its deadline has passed. Uses a thread per run: runs with a deadline are rare.
class Deadline {
public:
  Deadline(RunState &run, double seconds) {
    if (seconds > 0 && seconds < maxSeconds)
      timer = std::thread([this, &run, seconds] {
        std::unique_lock lock(mutex);
        if (!ended.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return isOver; }))
          run.stop(deadlineExceeded("the run exceeded its timeout of ", seconds, " s"));
      });
  }
  ~Deadline() {
    if (!timer.joinable())
      return;
    {
      std::lock_guard lock(mutex);
      isOver = true;
    }
    ended.notify_all();
    timer.join();
  }

private:
  // Decades, in seconds; still representable by the clocks.
  static constexpr double maxSeconds = 1e9;

  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false;
  std::thread timer;
};

} // namespace treadle
