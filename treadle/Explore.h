// Exploration of all schedules of a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

struct ExploreRequest {
  std::vector<std::string> fetches, targets;
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> setup; // nodes to run before each schedule, such as initializers
  int64_t limit = 10000;          // maximum number of schedules
  double timeout = 60;            // time limit of one schedule in seconds
};
/// The result of `explore`.
struct Exploration {
  struct Schedule {
    /// Nodes with side effects, in order; `x@2` in iteration 2 of a loop.
    std::vector<std::string> firings;
    std::string outcome; // results, variables and printed text, or the error
  };
  /// Number of schedules run: one for all that keep the order of conflicting nodes.
  int64_t schedules = 0;
  bool isComplete = true;   // false: there are more than the limit
  bool isAmbiguous = false; // two live values reached a Merge, or left a loop
  bool isRandom = false;    // one schedule had two results: there is a random op without a seed
  /// Two schedules with different results that differ as little as possible; or empty.
  std::vector<Schedule> difference;
  /// Notes on the request, such as that the run repeats the work of the setup.
  std::vector<std::string> notes;
};
/// Runs all schedules of a small graph that the rules of docs/spec.md allow, and compares their
/// results. The schedules are those of one run with all fetches and targets. Calls, conditionals
/// and loops are lowered to frames first; a call that can't be lowered runs as one node. Errors:
/// InvalidArgument for a request without fetches and targets; those of running the request and its
/// setup; the error of the runs if all of them fail; DeadlineExceeded for a run that waits for an
/// event that never happens.
Expected<Exploration> explore(const Graph &graph, const ExploreRequest &request);

/// One run of the reference interpreter, firing by firing.
struct Recording {
  static constexpr size_t mostFirings = 20000;
  struct Value {
    bool isDead = false;
    std::string text; // `int32[] = 3`; the first elements of large values
  };
  struct Firing {
    std::string node; // index in `flat`
    /// The enclosing frames and their iterations, outermost first.
    std::vector<std::pair<std::string, int64_t>> tag;
    bool isDead = false;
    std::vector<std::optional<Value>> inputs; // empty for an input that a Merge did not wait for
    /// Empty for a dead Exit: it fires once more when its frame is done, in the enclosing frame and
    /// without inputs.
    std::vector<Value> outputs;
    std::string error; // empty unless the node failed
  };
  std::vector<Firing> firings;
  std::vector<std::pair<std::string, std::string>> results; // values by name
  bool isCut = false;                                       // whether there were more firings
  /// The graph that ran: in frames, without calls, conditionals and functional loops.
  Graph flat;
};
/// Runs one of the schedules that `explore` would run, and records it. Ignores `limit`. Errors as
/// for `explore`, except that a run in which nodes fail is recorded too.
Expected<Recording> record(const Graph &graph, const ExploreRequest &request);

} // namespace treadle
