// The thread that compiles in the background.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace treadle::codegen {

/// Submits compilation jobs for one owner, such as a session. All clients of a process share one
/// thread, which the first job starts; jobs run in the order of submission. Thread-safe.
///
/// A job may outlive the owner, so it must hold its inputs by shared pointers. A forked process has
/// no compile thread: there, and if the system has no more threads, jobs are refused and programs
/// stay interpreted.
class CompileClient : public std::enable_shared_from_this<CompileClient> {
public:
  using Job = std::function<void(CompileClient &client)>;

  static std::shared_ptr<CompileClient> make();

  /// Queues `job` for the thread. Returns false if it will never run.
  bool submit(Job job);

  /// Removes the queued jobs and cancels the running one, which may continue for a while.
  void close();

  /// Calls `action` while preventing forks of the process. For jobs that take locks shared with
  /// others, such as those of a graph's context: in a child process these would stay locked.
  static void withForksBlocked(const std::function<void()> &action);

  /// Set when the compilation has been cancelled; long steps poll it.
  const std::atomic<bool> &isCancelled() const { return cancelled; }

  /// Number of queued and running jobs.
  size_t pending() const { return jobs.load(std::memory_order_acquire); }

private:
  friend class CompileThread;
  CompileClient() = default;

  std::atomic<bool> cancelled{false};
  std::atomic<size_t> jobs{0};
};

} // namespace treadle::codegen
