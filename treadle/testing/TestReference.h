// For tests of the runtime: evaluates a graph of test ops with the reference interpreter, using its
// own ops and calls and none of the kernels and plans. The executors are compared with it.
#pragma once

#include "treadle/reference/Interpreter.h"
#include "treadle/testing/TestGraph.h"

#include <random>
#include <set>

namespace treadle::test {

/// The outcome that the reference interpreter found.
struct ReferenceOutcome {
  /// A value: the dimensions that `*` selectors add, and the elements.
  struct Value {
    std::vector<int64_t> dims;
    std::vector<int32_t> elements;
  };
  std::vector<std::optional<Value>> results; // nullopt if dead, or if there is no such iteration
  std::set<std::string> failures;            // names of nodes that failed
  bool isAmbiguous = false;                  // depends on the schedule: a Merge has two live values
  bool isTooLong = false;
};

/// The outcome of a run of a plan.
struct RunOutcome {
  Expected<std::vector<Tensor>> results;
  std::map<std::string, int32_t> variables;
};
RunOutcome execute(const Plan &plan, ThreadPool *pool);

/// Describes how a run differs from the expected outcome; empty if it doesn't.
std::string difference(const RunOutcome &ran, const ReferenceOutcome &expected,
                       const std::map<std::string, int32_t> &variables);

/// Runs graphs of the ops of `kernels()` over int32 and bool scalars, in an order given by a seed.
class Reference {
public:
  Reference(const Functions *functions, unsigned seed) : functions(functions), random(seed) {}
  ReferenceOutcome run(const GraphSpec &graph, std::vector<int32_t> args = {});
  std::map<std::string, int32_t> variables;

private:
  friend class ReferenceOps;
  const treadle::reference::Wiring &wiringOf(const GraphSpec &graph);

  std::map<const GraphSpec *, treadle::reference::Wiring> wirings;
  const Functions *functions;
  std::mt19937 random;
  int64_t stepsLeft = 30000;
};

} // namespace treadle::test
