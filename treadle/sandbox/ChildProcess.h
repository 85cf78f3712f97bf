// The process of a sandbox, from its owner's side.
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

/// A child process that inherits one file descriptor (number 3) and no environment. A dedicated
/// thread starts it and waits for its end, since PR_SET_PDEATHSIG is tied to the parent *thread*,
/// which must not be one of the caller's. Thread-safe.
class ChildProcess {
public:
  /// The child's command line: `PROGRAM sandbox-child 3 PARENT`.
  static constexpr const char *command = "sandbox-child";
  static constexpr int fileOfChild = 3;

  /// Starts the process. `onEnd` is called on the waiting thread once it has ended.
  /// FailedPrecondition if it can't be started.
  Expected<void> start(const std::string &program, int file, std::function<void()> onEnd);
  /// Kills the process and waits for its end. Does nothing in a fork of the owner.
  ~ChildProcess();

  void kill();
  bool hasEnded() const { return ended.load(std::memory_order_acquire); }
  /// How the process ended: `signal 11 (SEGV)`, `exit status 1`; empty while it lives.
  std::string end() const;
  bool isInOwner() const;

private:
  void watch(const std::string &program, int file, const std::function<void()> &onEnd);
  void waitForEnd();

  mutable std::mutex mutex; // guards the members below
  std::condition_variable started;
  bool hasStarted = false;
  int startError = 0;
  pid_t process = 0; // 0 if none, or if the number may be reused
  std::string how;

  std::atomic<bool> ended{false};
  pid_t owner = 0;
  std::thread watcher;
};

/// Returns the path of the program for sandboxes: the command `treadle` that is installed with the
/// library. FailedPrecondition, listing the paths tried, if it isn't found.
Expected<std::string> sandboxProgram();

} // namespace treadle::sandbox
