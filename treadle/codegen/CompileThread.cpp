#include "treadle/codegen/CompileThread.h"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace treadle::codegen {

/// The thread and its queue. Never destroyed: in a forked process the thread doesn't exist, and
/// destroying the condition variable would wait for it.
class CompileThread {
public:
  static CompileThread &get();

  bool submit(std::shared_ptr<CompileClient> client, CompileClient::Job job);
  /// Removes the client's queued jobs.
  void forget(const CompileClient &client);
  /// Ends the thread permanently.
  void stop();
  /// Whether the thread belongs to the process that this one was forked from.
  bool isForked() const {
    pid_t owner = process.load(std::memory_order_acquire);
    return owner && owner != getpid();
  }

private:
  struct Item {
    std::shared_ptr<CompileClient> client;
    CompileClient::Job job;
  };
  bool start();
  void work();
  static void run(Item item);

  std::atomic<pid_t> process{0}; // the process of the thread
  std::mutex mutex;              // guards the following members
  std::condition_variable wake;
  std::deque<Item> queue;
  std::shared_ptr<CompileClient> current; // the client of the running job
  bool isStopping = false;
  std::thread thread;
};

namespace {

/// Gives running programs priority when cores are scarce.
constexpr int niceness = 5;

void lowerPriority() {
  // Signals must be handled by the program's own threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  // On Linux, applies to this thread only.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), niceness);
}

/// Stops the thread before static objects are destroyed: libraries that it uses create static
/// objects at first use, which are destroyed before older ones. Thread-local objects of the main
/// thread are destroyed before all of them.
class ThreadExit {
public:
  ~ThreadExit() {
    if (isArmed && syscall(SYS_gettid) == getpid())
      CompileThread::get().stop();
  }
  void arm() { isArmed = true; }

private:
  bool isArmed = false;
};
thread_local ThreadExit threadExit;

/// For programs whose main thread never created a client.
struct ProcessExit {
  ~ProcessExit() { CompileThread::get().stop(); }
};

} // namespace

CompileThread &CompileThread::get() {
  static auto *thread = new CompileThread;
  static ProcessExit processExit;
  return *thread;
}

/// Requires the lock.
bool CompileThread::start() {
  if (thread.joinable())
    return true;
  try {
    thread = std::thread([this] { work(); });
  } catch (const std::system_error &) {
    return false;
  }
  process.store(getpid(), std::memory_order_release);
  return true;
}

bool CompileThread::submit(std::shared_ptr<CompileClient> client, CompileClient::Job job) {
  if (isForked())
    return false;
  {
    std::lock_guard lock(mutex);
    if (isStopping || !start())
      return false;
    client->jobs.fetch_add(1, std::memory_order_relaxed);
    queue.push_back({std::move(client), std::move(job)});
  }
  wake.notify_one();
  return true;
}

void CompileThread::forget(const CompileClient &client) {
  std::deque<Item> dropped, kept; // dropped after the lock is released: jobs may hold large objects
  std::lock_guard lock(mutex);
  for (Item &item : queue)
    (item.client.get() == &client ? dropped : kept).push_back(std::move(item));
  queue = std::move(kept);
  for (Item &item : dropped)
    item.client->jobs.fetch_sub(1, std::memory_order_release);
}

void CompileThread::stop() {
  if (isForked())
    return;
  std::deque<Item> dropped;
  {
    std::lock_guard lock(mutex);
    isStopping = true;
    dropped = std::exchange(queue, {});
    if (current)
      current->cancelled = true;
  }
  wake.notify_all();
  if (thread.joinable())
    thread.join();
}

void CompileThread::run(Item item) {
  try {
    item.job(*item.client);
  } catch (const std::bad_alloc &) { // NOLINT(bugprone-empty-catch)
    // The job failed, so its cluster stays interpreted.
  }
  item.job = nullptr;
  item.client->jobs.fetch_sub(1, std::memory_order_release);
}

void CompileThread::work() {
  lowerPriority();
  for (;;) {
    Item item;
    {
      std::unique_lock lock(mutex);
      current.reset();
      wake.wait(lock, [this] { return isStopping || !queue.empty(); });
      if (isStopping)
        return;
      item = std::move(queue.front());
      queue.pop_front();
      current = item.client;
    }
    run(std::move(item));
  }
}

std::shared_ptr<CompileClient> CompileClient::make() {
  threadExit.arm();
  return std::shared_ptr<CompileClient>(new CompileClient);
}

bool CompileClient::submit(Job job) {
  threadExit.arm();
  return !cancelled && CompileThread::get().submit(shared_from_this(), std::move(job));
}

void CompileClient::close() {
  cancelled = true;
  // The thread may have held the lock when this process was forked.
  if (CompileThread::get().isForked())
    return;
  CompileThread::get().forget(*this);
}

void CompileClient::withForksBlocked(const std::function<void()> &action) {
  static std::mutex forking; // held while forking
  static const int registered =
      pthread_atfork([] { forking.lock(); }, [] { forking.unlock(); }, [] { forking.unlock(); });
  (void)registered;
  std::lock_guard lock(forking);
  action();
}

} // namespace treadle::codegen
