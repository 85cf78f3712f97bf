#include "treadle/runtime/Run.h"

#include <algorithm>

namespace treadle {

void RunState::stop(Error why) {
  std::unique_lock lock(mutex);
  if (!reason)
    reason = std::make_unique<Error>(std::move(why));
  stopped.store(true, std::memory_order_release);
  while (!wakers.empty()) {
    auto [number, wake] = std::move(wakers.back());
    wakers.pop_back();
    waking.push_back(number);
    lock.unlock();
    wake();
    lock.lock();
    std::erase(waking, number);
    woken.notify_all();
  }
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
  std::unique_lock lock(mutex);
  std::erase_if(wakers, [&](const auto &entry) { return entry.first == number; });
  woken.wait(lock, [&] { return std::find(waking.begin(), waking.end(), number) == waking.end(); });
}

} // namespace treadle
