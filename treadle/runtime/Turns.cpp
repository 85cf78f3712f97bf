#include "treadle/runtime/Turns.h"

#include "treadle/runtime/Cores.h"
#include "treadle/runtime/Fork.h"
#include "treadle/runtime/Run.h"

#include <condition_variable>
#include <list>
#include <mutex>

namespace treadle {
namespace {

class Turns {
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
    own->wake.wait(lock, [&] { return own->hasTurn || run.isStopped(); });
    lock.unlock();
    run.forget(waker);
    lock.lock();
    bool hasTurn = own->hasTurn;
    waiting.erase(own);
    return hasTurn;
  }

  void giveBack() {
    std::lock_guard lock(mutex);
    for (Waiter &next : waiting)
      if (!next.hasTurn) {
        next.hasTurn = true;
        return next.wake.notify_one();
      }
    ++free;
  }

private:
  struct Waiter {
    std::condition_variable wake;
    bool hasTurn = false;
  };

  std::mutex mutex; // guards the following members
  int free = availableCores();
  std::list<Waiter> waiting; // in order of arrival
};

thread_local bool hasTurn = false;

} // namespace

Turn::Turn(RunState &run) {
  if (!hasTurn)
    hasTurn = isOwn = ofThisProcess<Turns>().take(run);
}

Turn::~Turn() {
  if (!isOwn)
    return;
  hasTurn = false;
  ofThisProcess<Turns>().giveBack();
}

} // namespace treadle
