#include "treadle/pjrt/Completion.h"

namespace treadle::pjrt {

const Error *Completion::wait() {
  if (!isDone()) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return isDone(); });
  }
  return outcome();
}

void Completion::whenDone(Callback callback) {
  {
    std::lock_guard lock(mutex);
    if (!isDone()) {
      callbacks.push_back(std::move(callback));
      return;
    }
  }
  callback(outcome());
}

void Completion::finish(std::optional<Error> result) {
  std::vector<Callback> waiting;
  {
    std::lock_guard lock(mutex);
    error = std::move(result);
    waiting.swap(callbacks);
    done.store(true, std::memory_order_release);
    changed.notify_all();
  }
  for (const Callback &callback : waiting)
    callback(outcome());
}

} // namespace treadle::pjrt
