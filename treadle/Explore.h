// All schedules of a graph.
#pragma once

#include "treadle/Graph.h"

namespace treadle {

struct ExploreRequest {
  std::vector<std::string> fetches, targets;
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> setup; // nodes to run before each schedule: initializers
  int64_t limit = 10000;          // schedules to run at most
  double timeout = 60;            // seconds that one of them may take
};
/// What `explore` found.
struct Exploration {
  struct Schedule {
    std::vector<std::string> firings; // nodes with effects, in order; `x@2` in a loop's iteration 2
    std::string outcome; // results, variables, what was printed; or that it fails, and why
  };
  int64_t schedules = 0;    // that were run: one for all that keep the order of conflicting nodes
  bool isComplete = true;   // false: there are more than the limit
  bool isAmbiguous = false; // two live values met at a Merge, or left a loop
  bool isRandom = false;    // one schedule gave two things: there is a random op without a seed
  /// Two schedules that give different things, with the least between them; or nothing.
  std::vector<Schedule> difference;
  /// What to know of the request: that the run does the setup's work again.
  std::vector<std::string> notes;
};
/// Runs all schedules of a small graph that the rules of docs/spec.md allow, and compares what
/// they give: of one run, which asks for all fetches and targets. Calls, conditionals and loops are
/// taken apart first; a call that can't be runs as a whole. Errors: InvalidArgument where nothing
/// is asked for; those of a run's request, of its setup, and of a run where all of them fail;
/// DeadlineExceeded for a run that waits for what doesn't come.
Expected<Exploration> explore(const Graph &graph, const ExploreRequest &request);

/// One run of the reference machine, firing by firing.
struct Recording {
  static constexpr size_t mostFirings = 20000;
  struct Value {
    bool isDead = false;
    std::string text; // `int32[] = 3`; of large values the first elements
  };
  struct Firing {
    std::string node; // of `flat`
    /// Frames and iterations that it is in, outermost first.
    std::vector<std::pair<std::string, int64_t>> tag;
    bool isDead = false;
    std::vector<std::optional<Value>> inputs; // nothing for one that a Merge did not wait for
    /// None of an Exit that is dead: it fires once more when its frame is over, around the frame
    /// and without inputs.
    std::vector<Value> outputs;
    std::string error; // empty unless it failed
  };
  std::vector<Firing> firings;
  std::vector<std::pair<std::string, std::string>> results; // by name, their values
  bool isCut = false;                                       // there were more firings
  /// The graph that ran: one of frames, without calls, conditionals and functional loops.
  Graph flat;
};
/// Runs one schedule of what `explore` explores, and writes it down. `limit` says nothing. Errors
/// as those of `explore`, but a run in which nodes fail is a recording too.
Expected<Recording> record(const Graph &graph, const ExploreRequest &request);

} // namespace treadle
