// For tests of the runtime: what a graph means, by the rules of docs/spec.md (whose labels stand in
// the code), one firing at a time. Slow, and simple enough to be believed: the executors are
// compared with it.
#pragma once

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

/// Runs graphs of `kernels()`'s ops over int32 and bool scalars, in an order drawn by a seed.
class Reference {
public:
  Reference(const Functions *functions, unsigned seed) : functions(functions), random(seed) {}
  Meaning run(const GraphSpec &graph, std::vector<int32_t> args = {});
  std::map<std::string, int32_t> variables;

private:
  friend class ReferenceRun;
  /// Who takes an output of a node; output -1 is the control output.
  using Consumers =
      std::map<Endpoint, std::vector<std::pair<int, int>>, bool (*)(Endpoint, Endpoint)>;
  const Consumers &consumersOf(const GraphSpec &graph);
  std::map<const GraphSpec *, Consumers> consumers;
  const Functions *functions;
  std::mt19937 random;
  int64_t steps = 0;
};

} // namespace treadle::test
