// Communication behind computation: which order of the nodes hides most of it, as soft edges.
#pragma once

#include "treadle/transforms/schedule_communication/CostModel.h"
#include "treadle/transforms/schedule_communication/Simulation.h"

#include <string>
#include <vector>

namespace treadle::tfg {

struct ScheduleOptions {
  CostModel costs;
  int64_t ranks = 2;       // of collectives whose group is no constant
  int64_t memoryLimit = 0; // bytes that exchanges under way may hold; 0: any number
  int64_t bucketBytes = 0; // all-reduces of fewer bytes become one of up to so many; 0: none do
  double jitter = 0;       // for the simulation, as simulate() takes it
};

/// What was found, by the cost model.
struct Schedule {
  struct Line {
    std::string name, op;
    bool isCommunication = false;
    double begin = 0, end = 0; // seconds
  };
  Simulation before, after;
  std::vector<Line> lines;               // by their beginning; nodes that take no time are left out
  int64_t buckets = 0;                   // exchanges that were made of several
  int64_t edges = 0;                     // soft edges that were added
  std::vector<std::string> unknownSizes; // collectives that count as empty, by name

  /// The share of communication that ran while the rank computed, of what could have: no more than
  /// it computes. 1 where there was nothing to hide.
  double hiddenShare() const;
  /// As `treadle explain` prints it.
  std::string text() const;
};

/// Joins small all-reduces, and adds soft edges that let what exchanges wait for come first. A node
/// that an exchange needs last comes before what the schedule does after it; what uses an exchanged
/// value comes when it is there. Edges that are there stay, soft ones too, and no node goes or
/// changes its name. Where the simulation says that this gains nothing, no edge is added. The same
/// graph and options give the same schedule.
Schedule scheduleCommunication(mlir::Block &body, const ScheduleOptions &options);

/// The tasks of a body's nodes, in their order.
std::vector<Task> tasksOf(mlir::Block &body, const ScheduleOptions &options);

/// What a run makes of a body: groups of nodes that one kernel computes, or that are compiled as
/// one, are one task, which takes what its nodes take, unless the costs have its own op or name.
struct PlannedStep {
  std::vector<Task> tasks;
  std::vector<std::pair<std::string, std::string>> nodes; // names and ops of the tasks
};
PlannedStep plannedStep(mlir::Block &body, const ScheduleOptions &options);

/// Joins all-reduces of one group, dtype and reduction that no path connects, as long as they are
/// small; returns how many there are of several then.
int64_t joinSmallReductions(mlir::Block &body, const ScheduleOptions &options);

} // namespace treadle::tfg
