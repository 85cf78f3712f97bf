// A run on a clock of its own: what a schedule is worth before anybody runs it.
#pragma once

#include <cstdint>
#include <vector>

namespace treadle::tfg {

/// Work of one rank. Every rank does the same.
struct Task {
  double seconds = 0;
  bool isCommunication = false;
  std::vector<int32_t> before; // tasks that it waits for
};

/// When a task of one rank ran.
struct Interval {
  double begin = 0, end = 0;
};

struct Simulation {
  std::vector<Interval> tasks; // of rank 0
  double seconds = 0;          // until the last rank has ended
  double compute = 0;          // sum over rank 0's tasks that compute
  double communication = 0;    // sum over its others
  double hidden = 0;           // of these, while it computed
};

/// What `ranks` ranks do: each computes on one thread, the task that has been ready for longest
/// first (of several, in the order of the list), as the executor does; and has one link, on which
/// exchanges go one after the other in the order in which they become ready. An exchange begins
/// when the last rank has come to it, and ends for all at the same time. Each rank's tasks take up
/// to `jitter` (a share of 1) longer, by random numbers of a fixed seed. Tasks on a cycle don't
/// run.
Simulation simulate(const std::vector<Task> &tasks, int64_t ranks = 1, double jitter = 0);

} // namespace treadle::tfg
