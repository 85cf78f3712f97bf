// Simulation of a schedule, to estimate its gain before a run.
#pragma once

#include <cstdint>
#include <vector>

namespace treadle::tfg {

/// A task that every rank executes.
struct Task {
  double seconds = 0;
  bool isCommunication = false;
  std::vector<int32_t> before; // tasks that it depends on
};

/// The time in which a task of one rank ran.
struct Interval {
  double begin = 0, end = 0;
};

struct Simulation {
  std::vector<Interval> tasks; // of rank 0
  double seconds = 0;          // until the last rank is done
  double compute = 0;          // sum of rank 0's computing tasks
  double communication = 0;    // sum of its communication tasks
  double hidden = 0;           // part of it that overlaps with computing
};

/// Simulates `ranks` ranks. Each has one thread that computes the task that has been ready for
/// longest (in the order of the list if there are several), as the executor does; and one link that
/// communicates one task after the other, in the order in which they become ready. A communication
/// task starts when the last rank reaches it and ends for all ranks at the same time. Each task
/// takes longer by a random fraction of up to `jitter`, with a fixed seed. Tasks on a cycle don't
/// run.
Simulation simulate(const std::vector<Task> &tasks, int64_t ranks = 1, double jitter = 0);

} // namespace treadle::tfg
