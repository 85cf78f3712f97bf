// The task queue of a device.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace treadle::pjrt {

/// Runs tasks one after the other on its own thread, which starts with the first task. Thread-safe.
class Queue {
public:
  using Task = std::function<void()>;

  Queue() = default;
  ~Queue(); // waits for all tasks
  Queue(const Queue &) = delete;
  Queue &operator=(const Queue &) = delete;

  void add(Task task);
  /// Runs the task on the calling thread if the queue is empty, or if the calling thread is running
  /// a task that may wait for this one. Otherwise returns false.
  bool runNow(const Task &task);

  /// Whether the calling thread is in a callback from a task.
  static bool isCallingBack();

  /// A scope in which the thread, during a task, calls back to the caller of the program.
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
