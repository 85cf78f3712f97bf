#include "treadle/runtime/WaitingThreads.h"

#include "treadle/runtime/DenormalScope.h"
#include "treadle/runtime/Fork.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace treadle {

namespace {

// Never destroyed: detached threads use it until the process ends.
class Waiters {
public:
  bool run(std::function<void()> task) {
    uint64_t number;
    {
      std::lock_guard lock(mutex);
      number = numTasks++;
      tasks.push_back({number, std::move(task)});
      if (tasks.size() <= idle) {
        wake.notify_one();
        return true;
      }
    }
    try {
      std::thread([this] { work(); }).detach();
      return true;
    } catch (const std::system_error &) {
      std::lock_guard lock(mutex);
      return std::erase_if(tasks, [&](const Task &each) { return each.number == number; }) == 0;
    }
  }

private:
  struct Task {
    uint64_t number;
    std::function<void()> run;
  };

  void runOne(std::unique_lock<std::mutex> &lock) {
    if (tasks.empty())
      return;
    std::function<void()> task = std::move(tasks.front().run);
    tasks.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }

  void work() {
    constexpr std::chrono::seconds patience(2);
    std::unique_lock lock(mutex);
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
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Task> tasks;
  uint64_t numTasks = 0; // tasks submitted so far
  size_t idle = 0;       // idle threads
};

} // namespace

bool WaitingThreads::run(std::function<void()> task) {
  return ofThisProcess<Waiters>().run(inModeOfCaller(std::move(task)));
}

} // namespace treadle
