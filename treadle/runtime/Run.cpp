#include "treadle/runtime/Run.h"

#include <algorithm>

namespace treadle {

void RunState::stop(Error why) {
  std::vector<std::pair<int, std::function<void()>>> toWake;
  {
    std::lock_guard lock(mutex);
    if (!reason)
      reason = std::make_unique<Error>(std::move(why));
    stopped.store(true, std::memory_order_release);
    toWake.swap(wakers);
  }
  for (auto &[number, wake] : toWake)
    wake();
}

Error RunState::stopReason() const {
  std::lock_guard lock(mutex);
  return reason ? *reason : cancelled("the run was cancelled");
}

int RunState::onStop(std::function<void()> wake) {
  {
    std::lock_guard lock(mutex);
    if (!stopped.load(std::memory_order_relaxed)) {
      wakers.emplace_back(++nextWaker, std::move(wake));
      return nextWaker;
    }
  }
  wake();
  return 0;
}

void RunState::forget(int number) {
  std::lock_guard lock(mutex);
  std::erase_if(wakers, [&](const auto &entry) { return entry.first == number; });
}

} // namespace treadle
