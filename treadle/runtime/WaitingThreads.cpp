#include "treadle/runtime/WaitingThreads.h"

#include "treadle/runtime/Fork.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace treadle {

namespace {

// Detached threads use it to the end of the process.
class Waiters {
public:
  void run(std::function<void()> task) {
    {
      std::lock_guard lock(mutex);
      tasks.push_back(std::move(task));
      if (tasks.size() <= idle) {
        wake.notify_one();
        return;
      }
    }
    try {
      std::thread([this] { work(); }).detach();
    } catch (const std::system_error &) {
      // Those that are there do it in time; with none at all, this one.
      std::unique_lock lock(mutex);
      if (threads == 0)
        runOne(lock);
    }
  }

private:
  void runOne(std::unique_lock<std::mutex> &lock) {
    if (tasks.empty())
      return;
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }

  void work() {
    constexpr std::chrono::seconds patience(2);
    std::unique_lock lock(mutex);
    ++threads;
    for (;;) {
      runOne(lock);
      if (!tasks.empty())
        continue;
      ++idle;
      bool isWanted = wake.wait_for(lock, patience, [this] { return !tasks.empty(); });
      --idle;
      if (!isWanted)
        break;
    }
    --threads;
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> tasks;
  size_t idle = 0, threads = 0;
};

} // namespace

void WaitingThreads::run(std::function<void()> task) {
  ofThisProcess<Waiters>().run(std::move(task));
}

} // namespace treadle
