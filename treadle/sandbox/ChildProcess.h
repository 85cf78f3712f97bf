// The process of a sandbox, as its owner sees it.
#pragma once

#include "treadle/tensor/Error.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <sys/types.h>

namespace treadle::sandbox {

/// A program that was started with one file of ours, its number 3, without our environment. A
/// thread of its own starts it and waits for its end: the kernel ends a child with the *thread*
/// that it is a child of, so none of the caller's would do. Thread-safe.
class ChildProcess {
public:
  /// What the child is told by its arguments: `PROGRAM sandbox-child 3 PARENT`.
  static constexpr const char *command = "sandbox-child";
  static constexpr int fileOfChild = 3;

  /// Starts it; `onEnd` is called once it has ended, on the thread that waits. FailedPrecondition
  /// where it can't be started.
  Expected<void> start(const std::string &program, int file, std::function<void()> onEnd);
  /// Kills it, and waits until it is gone. In a process that was forked off its owner it does
  /// nothing.
  ~ChildProcess();

  void kill();
  bool hasEnded() const { return ended.load(std::memory_order_acquire); }
  /// `signal 11 (SEGV)`, `exit status 1`; empty while it lives.
  std::string end() const;
  bool isOwn() const;

private:
  void watch(const std::string &program, int file, const std::function<void()> &onEnd);
  void waitForEnd();

  mutable std::mutex mutex; // guards what follows
  std::condition_variable started;
  bool hasStarted = false;
  int startError = 0;
  pid_t process = 0; // 0: none, or its number may be another's by now
  std::string how;

  std::atomic<bool> ended{false};
  pid_t owner = 0;
  std::thread watcher;
};

/// The program that sandboxes are started with: the command `treadle` as it comes with the library.
/// FailedPrecondition, with the places, if it isn't there.
Expected<std::string> sandboxProgram();

} // namespace treadle::sandbox
