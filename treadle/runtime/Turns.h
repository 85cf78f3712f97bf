// Turns of runs that take long, where more threads call than there are cores.
#pragma once

namespace treadle {

class RunState;

/// Leave to compute: as many threads have it at a time as there are cores, first come, first
/// served. Threads that the system makes take turns instead, in the middle of their runs, find each
/// time that others' data have displaced theirs from the core's cache. Only for runs that end
/// without waiting for another one. A thread that has a turn needs no other.
class Turn {
public:
  /// Waits for one, or until the run is stopped.
  explicit Turn(RunState &run);
  ~Turn();
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

private:
  bool isOwn = false; // and to be given back
};

} // namespace treadle
