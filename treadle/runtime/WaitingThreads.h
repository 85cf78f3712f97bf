// Threads for work that mostly waits.
#pragma once

#include <functional>

namespace treadle {

/// One thread for each piece of such work, kept a while for the next. They are the process's, and
/// use no processor to speak of.
class WaitingThreads {
public:
  /// Runs `task` on such a thread. False where the system gives none: those that are there may wait
  /// for this very task.
  [[nodiscard]] static bool run(std::function<void()> task);
};

} // namespace treadle
