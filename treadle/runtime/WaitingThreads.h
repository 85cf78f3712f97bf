// Threads for tasks that mostly block.
#pragma once

#include <functional>

namespace treadle {

/// One thread per blocking task; idle threads are kept for a while and reused. They are shared by
/// the process.
class WaitingThreads {
public:
  /// Runs `task` on such a thread. Returns false if the system has no more threads; the task can't
  /// be queued, since running tasks may wait for it.
  [[nodiscard]] static bool run(std::function<void()> task);
};

} // namespace treadle
