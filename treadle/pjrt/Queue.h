// What a device is to do, in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace treadle::pjrt {

/// Runs tasks one after the other on a thread of its own, which starts with the first. Thread-safe.
class Queue {
public:
  using Task = std::function<void()>;

  Queue() = default;
  ~Queue(); // after all tasks
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  void add(Task task);
  /// Runs the task on the calling thread if there is nothing to be done before it, or if the thread
  /// is in the middle of a task, which may wait for this one; false otherwise.
  bool runNow(const Task &task);

  /// Whether the thread is in the middle of a task, and calls back.
  static bool isCallingBack();

  /// While it lives, the thread calls back to the program's caller in the middle of a task.
  class CallingBack {
  public:
    CallingBack();
    ~CallingBack();
    CallingBack(const CallingBack &) = delete;
    CallingBack &operator=(const CallingBack &) = delete;

  private:
    bool before;
  };

private:
  void work();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  bool isBusy = false, isStopping = false;
  std::thread thread;
};

} // namespace treadle::pjrt
