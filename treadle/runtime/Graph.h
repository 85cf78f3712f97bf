// A graph as the runtime is given it: what a front end writes down, and a plan is built from.
#pragma once

#include "treadle/tensor/Attr.h"
#include "treadle/tensor/DType.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// Output `output` of node `node` (an index into GraphSpec::nodes).
struct Endpoint {
  int32_t node = -1;
  int32_t output = 0;
  bool operator==(const Endpoint &) const = default;
};

/// A value's dtype; `isRef` if it is a reference to a v1 variable.
struct ValueType {
  DType dtype = DType::Invalid;
  bool isRef = false;
};

/// A node's soft edges. They are names, since a wish must not stand in the way of who removes,
/// moves or merges nodes: one that no node has counts for nothing.
struct SoftInputs {
  std::vector<std::string> after; // nodes that should run before this one
};

struct LoopSpec;
struct LoopPlans;

/// What a node that stands for a cluster computes, in the form of whoever compiles it.
struct ClusterBody {
  virtual ~ClusterBody() = default;
};

/// A node. Attributes include the defaults of the op's definition.
struct NodeSpec {
  std::string name;
  std::string op;
  std::string device;
  AttrMap attrs;
  std::vector<Endpoint> inputs;
  std::vector<int32_t> controls; // nodes that must have finished
  std::vector<ValueType> inputTypes;
  std::vector<ValueType> outputTypes;
  /// Of a node in a function whose op nobody defines: which outputs of its op the node's are,
  /// "output:0" and so on. Their order says nothing. Such a node has as many outputs as are used,
  /// of the dtypes that their users want: Invalid where these don't say.
  std::vector<std::string> outputNames;
  std::shared_ptr<const Error> problem;   // why the node can't run; null: nothing is known
  bool isFunctionCall = false;            // `op` names a function, `attrs` instantiate it
  bool isSwitch = false;                  // an If whose condition is a predicate: a bool scalar
  bool isGradient = false;                // it calls the gradient of its function
  std::shared_ptr<const SoftInputs> soft; // null: none
  std::shared_ptr<const LoopSpec> loop;   // a While that has its graphs with it, not their names
  std::shared_ptr<const LoopPlans> plans; // of `loop`: while a plan is built
  std::shared_ptr<const ClusterBody> cluster; // null: the node is no cluster
};

/// Which iterations of the frames around a value a result wants, one selector a frame, outermost
/// first.
struct IterationSelector {
  enum Kind : uint8_t { At, Last, All } kind = At;
  int64_t iteration = 0; // for At
};

/// A value that the graph gives.
struct ResultSpec {
  Endpoint from;
  std::string name;                          // for messages
  std::vector<IterationSelector> iterations; // empty: the first of each frame
};

/// A graph or the body of a function. Nodes stand in program order.
struct GraphSpec {
  std::string name; // for messages
  std::vector<NodeSpec> nodes;
  std::vector<Endpoint> args; // values given by the caller: output 0 of nodes with op `_Arg`
  std::vector<ResultSpec> results;
};

/// A loop's graphs. Both take all of its values; the condition gives whether it goes on, the body
/// the values of the next iteration.
struct LoopSpec {
  GraphSpec cond, body;
};

} // namespace treadle
