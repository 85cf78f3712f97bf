// Limits the number of long runs that compute at the same time to the number of cores.
#pragma once

namespace treadle {

class RunState;

/// A permit to compute: at most as many threads hold one as there are cores, first come, first
/// served. If the system scheduled all threads instead, preempting runs in the middle, each would
/// find its data evicted from the core's cache. Only for runs that finish without waiting for
/// another run. A thread that holds a permit needs no second one.
class ComputePermit {
public:
  /// Waits for a permit, or until the run is stopped.
  explicit ComputePermit(RunState &run);
  ~ComputePermit();
  ComputePermit(const ComputePermit &) = delete;
  ComputePermit &operator=(const ComputePermit &) = delete;

private:
  bool isOwn = false; // this object must return the permit
};

} // namespace treadle
