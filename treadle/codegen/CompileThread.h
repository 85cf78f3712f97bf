// The thread that compiles while programs run.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace treadle::codegen {

/// What one owner, such as a session, has compiled beside its runs. All clients of a process share
/// one thread, which the first job starts; it takes jobs in the order in which they came.
/// Thread-safe.
///
/// A job may outlive the owner, and holds what it needs by counted pointers. A process that was
/// forked has no such thread: there, and where the system gives none, jobs are refused, and
/// programs stay interpreted.
class CompileClient : public std::enable_shared_from_this<CompileClient> {
public:
  using Job = std::function<void(CompileClient &client)>;

  static std::shared_ptr<CompileClient> make();

  /// Has the thread call `job`, some time. False if nobody will.
  bool submit(Job job);

  /// Forgets the jobs that wait, and tells the one that runs to end. It may go on for a while.
  void close();

  /// Calls `action`, and lets nobody fork the process meanwhile: for jobs that use locks of others,
  /// as a graph's context has. In a child they would be held for ever.
  static void betweenForks(const std::function<void()> &action);

  /// Set once what is compiled isn't wanted any more: long steps look at it.
  const std::atomic<bool> &isCancelled() const { return cancelled; }

  /// Jobs that wait or run.
  size_t pending() const { return jobs.load(std::memory_order_acquire); }

private:
  friend class CompileThread;
  CompileClient() = default;

  std::atomic<bool> cancelled{false};
  std::atomic<size_t> jobs{0};
};

} // namespace treadle::codegen
