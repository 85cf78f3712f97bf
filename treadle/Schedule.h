// Who runs first: edges that order a graph, and schedules that hide communication.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

/// A node, and one that it should follow, by name.
struct Following {
  std::string node, after;
};
/// Makes an edge of each: a control input; or with `soft` a wish for the schedule, which keeps no
/// node alive and stops a fusion only where an exchange would be delayed (the attribute
/// `_soft_inputs`). NotFound for a name that isn't in the graph; InvalidArgument where a node would
/// follow itself, or nodes wait in a circle: the graph is as it was then. Gives soft edges that
/// contradict the others, which aren't made.
Expected<std::vector<Following>> preserveOrder(Graph &graph, const std::vector<Following> &order,
                                               bool soft = false);

struct ScheduleRequest {
  std::string costs;       // a file of costs or a trace (docs/scheduling.md); empty: the defaults
  int64_t ranks = 2;       // of collectives whose group's size is no constant
  int64_t memoryLimit = 0; // bytes that exchanges under way may hold; 0: any number
  int64_t bucketBytes = 0; // all-reduces of fewer bytes become one of up to so many; 0: none do
  double jitter = 0;       // how much longer tasks may take, as a share of 1
};
/// What a schedule is worth, by the cost model: seconds of one step.
struct Schedule {
  struct Line {
    std::string name, op;
    bool isCommunication = false;
    double begin = 0, end = 0;
  };
  double unscheduled = 0, scheduled = 0;
  double compute = 0, communication = 0, hidden = 0;
  double hiddenShare = 1; // of the communication that could be hidden
  int64_t edges = 0, buckets = 0;
  std::vector<Line> lines; // by their beginning
  std::string text;        // as `treadle explain --costs` prints it
};
/// Gives the graph's nodes soft edges that let computing hide communication, as
/// tfg-schedule-communication does, and tells what that gains.
Expected<Schedule> scheduleCommunication(Graph &graph, const ScheduleRequest &request);

} // namespace treadle
