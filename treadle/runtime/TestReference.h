// For tests of the runtime: what a graph of the tests' ops means, by the reference machine and by
// ops and calls of its own, no kernel or plan among them. The executors are compared with it.
#pragma once

#include "treadle/reference/Machine.h"
#include "treadle/runtime/TestGraph.h"

#include <random>
#include <set>

namespace treadle::test {

/// What the reference found.
struct Meaning {
  /// A value: the dimensions that `*` selectors add, and the elements.
  struct Value {
    std::vector<int64_t> dims;
    std::vector<int32_t> elements;
  };
  std::vector<std::optional<Value>> results; // nothing: dead, or no such iteration
  std::set<std::string> failures;            // nodes that failed
  bool isAmbiguous = false;                  // a schedule can change it: a Merge of two live values
  bool isTooLong = false;
};

/// What a run of a plan gave.
struct Ran {
  Expected<std::vector<Tensor>> results;
  std::map<std::string, int32_t> variables;
};
Ran execute(const Plan &plan, ThreadPool *pool);

/// What is wrong with a run; empty: nothing.
std::string difference(const Ran &ran, const Meaning &expected,
                       const std::map<std::string, int32_t> &variables);

/// Runs graphs of `kernels()`'s ops over int32 and bool scalars, in an order drawn by a seed.
class Reference {
public:
  Reference(const Functions *functions, unsigned seed) : functions(functions), random(seed) {}
  Meaning run(const GraphSpec &graph, std::vector<int32_t> args = {});
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
