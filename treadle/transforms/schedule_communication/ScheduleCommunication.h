// Scheduling that overlaps communication with computation, by adding soft edges.
#pragma once

#include "treadle/transforms/schedule_communication/CostModel.h"
#include "treadle/transforms/schedule_communication/Simulation.h"

#include <string>
#include <vector>

namespace treadle::tfg {

struct ScheduleOptions {
  CostModel costs;
  int64_t ranks = 2;       // for collectives whose group size isn't constant
  int64_t memoryLimit = 0; // limit in bytes for results of pending communication; 0: none
  int64_t bucketBytes = 0; // maximum bytes of a merged all-reduce; 0: don't merge
  double jitter = 0;       // see simulate()
};

/// The schedule and its estimated times.
struct Schedule {
  struct Line {
    std::string name, op;
    bool isCommunication = false;
    double begin = 0, end = 0; // seconds
  };
  Simulation before, after;
  std::vector<Line> lines;               // ordered by start; without nodes that take no time
  int64_t buckets = 0;                   // merged all-reduces
  int64_t edges = 0;                     // soft edges added
  std::vector<std::string> unknownSizes; // names of collectives that count as empty

  /// Returns the fraction of communication time that overlaps with computation, relative to the
  /// most that could: the smaller of both times. 1 if there is nothing to overlap.
  double hiddenShare() const;
  /// Returns the text that `treadle explain` prints.
  std::string text() const;
};

/// Merges small all-reduces and adds soft edges, so that dependencies of communication run first.
/// The last dependency of a communication node runs before the nodes that the schedule has after
/// it; users of communicated values run once these are available. Existing edges stay, soft ones
/// too, and no node is removed or renamed. If the simulation shows no gain, no edge is added. The
/// result is deterministic.
Schedule scheduleCommunication(mlir::Block &body, const ScheduleOptions &options);

/// Returns the tasks of a body's nodes, in order.
std::vector<Task> tasksOf(mlir::Block &body, const ScheduleOptions &options);

/// The tasks of a run of a body: a group of nodes that one kernel computes, or that is compiled
/// together, is one task. Its cost is the sum of its nodes' costs, unless the cost model has an
/// entry for its own op or name.
struct PlannedStep {
  std::vector<Task> tasks;
  std::vector<std::pair<std::string, std::string>> nodes; // names and ops of the tasks
};
PlannedStep plannedStep(mlir::Block &body, const ScheduleOptions &options);

/// Merges small all-reduces with the same group, dtype and reduction that no path connects. Returns
/// the number of merged all-reduces.
int64_t mergeSmallReductions(mlir::Block &body, const ScheduleOptions &options);

} // namespace treadle::tfg
