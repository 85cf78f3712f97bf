// Ordering of nodes: control edges, and schedules that hide communication.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// A node and the node that it should follow, by name.
struct Following {
  std::string node, after;
};
/// Adds an edge for each: a control input, or with `soft` a soft edge (the attribute
/// `_soft_inputs`), which orders the schedule, keeps no node alive, and prevents a fusion only if
/// that would delay an exchange. NotFound for a name that isn't in the graph; InvalidArgument if a
/// node would follow itself, or the nodes would form a cycle; on an error the graph is unchanged.
/// Returns the soft edges that contradict others, which are not added.
Expected<std::vector<Following>> preserveOrder(Graph &graph, const std::vector<Following> &order,
                                               bool soft = false);

struct ScheduleRequest {
  std::string costs;       // a file of costs or a trace (docs/scheduling.md); empty: the defaults
  int64_t ranks = 2;       // of collectives whose group size is not a constant
  int64_t memoryLimit = 0; // memory limit of exchanges in flight, in bytes; 0: none
  int64_t bucketBytes = 0; // combine all-reduces of fewer bytes up to this size; 0: don't
  double jitter = 0;       // by which fraction tasks may take longer
};
/// The effect of a schedule by the cost model: seconds of one step.
struct Schedule {
  struct Line {
    std::string name, op;
    bool isCommunication = false;
    double begin = 0, end = 0;
  };
  double unscheduled = 0, scheduled = 0;
  double compute = 0, communication = 0, hidden = 0;
  double hiddenShare = 1; // fraction of the communication that can be hidden
  int64_t edges = 0, buckets = 0;
  std::vector<Line> lines; // by start time
  std::string text;        // the output of `treadle explain --costs`
};
/// Adds soft edges to the graph so that computation hides communication, as
/// tfg-schedule-communication does, and returns the predicted effect.
Expected<Schedule> scheduleCommunication(Graph &graph, const ScheduleRequest &request);

} // namespace treadle
