#include "treadle/runtime/ComputePermits.h"

#include "treadle/runtime/Cores.h"
#include "treadle/runtime/Fork.h"
#include "treadle/runtime/Run.h"

#include <condition_variable>
#include <list>
#include <mutex>

namespace treadle {
namespace {

class ComputePermits {
public:
  /// Returns false if the run was stopped before it got a permit.
  bool take(RunState &run) {
    std::list<Waiter>::iterator own;
    {
      std::lock_guard lock(mutex);
      if (free > 0) {
        --free;
        return true;
      }
      own = waiting.emplace(waiting.end());
    }
    int waker = run.onStop([this, own] {
      std::lock_guard lock(mutex);
      own->wake.notify_one();
    });
    std::unique_lock lock(mutex);
    own->wake.wait(lock, [&] { return own->hasPermit || run.isStopped(); });
    lock.unlock();
    run.forget(waker);
    lock.lock();
    bool hasPermit = own->hasPermit;
    waiting.erase(own);
    return hasPermit;
  }

  void giveBack() {
    std::lock_guard lock(mutex);
    for (Waiter &next : waiting)
      if (!next.hasPermit) {
        next.hasPermit = true;
        return next.wake.notify_one();
      }
    ++free;
  }

private:
  struct Waiter {
    std::condition_variable wake;
    bool hasPermit = false;
  };

  std::mutex mutex; // guards the following members
  int free = availableCores();
  std::list<Waiter> waiting; // in order of arrival
};

thread_local bool hasPermit = false;

} // namespace

ComputePermit::ComputePermit(RunState &run) {
  if (!hasPermit)
    hasPermit = isOwn = ofThisProcess<ComputePermits>().take(run);
}

ComputePermit::~ComputePermit() {
  if (!isOwn)
    return;
  hasPermit = false;
  ofThisProcess<ComputePermits>().giveBack();
}

} // namespace treadle
