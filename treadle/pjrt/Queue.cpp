#include "treadle/pjrt/Queue.h"

#include <utility>

namespace treadle::pjrt {

static thread_local bool callsBack = false;

bool Queue::isCallingBack() { return callsBack; }

Queue::CallingBack::CallingBack() : before(std::exchange(callsBack, true)) {}
Queue::CallingBack::~CallingBack() { callsBack = before; }

Queue::~Queue() {
  {
    std::lock_guard lock(mutex);
    isStopping = true;
  }
  changed.notify_all();
  if (thread.joinable())
    thread.join();
}

void Queue::add(Task task) {
  {
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    if (!thread.joinable())
      thread = std::thread([this] { work(); });
  }
  changed.notify_all();
}

bool Queue::runNow(const Task &task) {
  if (callsBack) {
    task();
    return true;
  }
  {
    std::lock_guard lock(mutex);
    if (isBusy || !tasks.empty())
      return false;
    isBusy = true;
  }
  task();
  {
    std::lock_guard lock(mutex);
    isBusy = false;
    if (tasks.empty())
      return true;
  }
  changed.notify_all();
  return true;
}

void Queue::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return !isBusy && (!tasks.empty() || isStopping); });
    if (tasks.empty())
      return;
    isBusy = true;
    Task task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr; // releases its captures before the next task starts
    lock.lock();
    isBusy = false;
  }
}

} // namespace treadle::pjrt
