// A signal handler may do very little: it wakes a thread, which cancels the run.
#include "treadle/python/Interrupt.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <mutex>
#include <semaphore.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace nb = nanobind;

namespace treadle::python {

namespace {

sem_t wake;
struct sigaction pythonsAction;
// The number of the run that the last signal was for: a watcher that wakes up late must not cancel
// the next run.
std::atomic<uint64_t> installedRun{0}, interruptedRun{0};
static_assert(std::atomic<uint64_t>::is_always_lock_free);
std::mutex mutex;              // guards the members below
std::function<void()> current; // cancels the runs
uint64_t currentRun = 0;
pid_t watcherProcess = 0; // the process of the watcher thread; a forked child has none

void onInterrupt(int signal, siginfo_t *info, void *context) {
  interruptedRun.store(installedRun.load());
  sem_post(&wake);
  if (pythonsAction.sa_flags & SA_SIGINFO)
    pythonsAction.sa_sigaction(signal, info, context);
  else if (pythonsAction.sa_handler != SIG_DFL && pythonsAction.sa_handler != SIG_IGN)
    pythonsAction.sa_handler(signal);
}

// Cancel repeatedly until the run is over: it may not have started when the signal arrived.
void cancelCurrent() {
  using namespace std::chrono_literals;
  for (;; std::this_thread::sleep_for(5ms)) {
    std::lock_guard lock(mutex);
    if (!current || currentRun != interruptedRun.load())
      return;
    current();
  }
}

void watch() {
  for (;;)
    if (sem_wait(&wake) == 0)
      cancelCurrent();
}

void startWatcher() {
  if (watcherProcess == getpid())
    return;
  watcherProcess = getpid();
  sem_init(&wake, 0, 0);
  // Block all signals in the watcher, so that Python's handlers run on other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread(watch).detach();
  } catch (const std::system_error &) {
    watcherProcess = 0; // Ctrl-C waits for the end of this run; the next run tries again
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool isMainThread() {
  static constinit unsigned long mainThread = 0; // taking a lock here could deadlock with the GIL
  if (!mainThread)
    mainThread = nb::cast<unsigned long>(
        nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  return PyThread_get_thread_ident() == mainThread;
}

// Leave SIGINT to a program with its own handler.
bool hasDefaultHandler() {
  // Use _signal, since the functions of `signal` take microseconds to convert numbers to
  // enumerators.
  static const nb::handle module = nb::module_::import_("_signal").release();
  static const nb::handle getsignal = nb::object(module.attr("getsignal")).release();
  static const nb::handle usual = nb::object(module.attr("default_int_handler")).release();
  return getsignal(SIGINT).is(usual);
}

} // namespace

InterruptScope::InterruptScope(std::function<void()> cancel) {
  if (!isMainThread() || !hasDefaultHandler())
    return;
  std::lock_guard lock(mutex);
  if (current)
    return; // a nested run, inside of a Python kernel
  startWatcher();
  while (sem_trywait(&wake) == 0) {
  }
  current = std::move(cancel);
  installedRun.store(++currentRun);
  isActive = true;
  struct sigaction action = {};
  action.sa_sigaction = onInterrupt;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGINT, &action, &pythonsAction);
}

InterruptScope::~InterruptScope() {
  if (!isActive)
    return;
  // Keep a handler that was installed in the meantime.
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == onInterrupt)
    sigaction(SIGINT, &pythonsAction, nullptr);
  std::lock_guard lock(mutex);
  current = nullptr;
}

} // namespace treadle::python
