// The input of the plan builder: a graph that frontends produce.
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

/// The soft edges of a node. They are kept as names, so that passes may remove, move or merge the
/// nodes; names without a node are ignored.
struct SoftInputs {
  std::vector<std::string> after; // nodes that should run before this one
};

struct LoopSpec;
struct LoopPlans;

/// The body of a cluster node, in the representation of the compiler that outlined it.
struct ClusterBody {
  virtual ~ClusterBody() = default;
  bool runsPython = false; // in some of its nodes
};

/// A node. Attributes include the defaults of the op definition.
struct NodeSpec {
  std::string name;
  std::string op;
  std::string device;
  AttrMap attrs;
  std::vector<Endpoint> inputs;
  std::vector<int32_t> controls; // nodes that must finish before this one starts
  std::vector<ValueType> inputTypes;
  std::vector<ValueType> outputTypes;
  /// Output names, "output:0" and so on, of a node in a function whose op has no definition; their
  /// order has no meaning. Such a node has as many outputs as are used, with the dtypes that their
  /// users expect, or Invalid if these don't say.
  std::vector<std::string> outputNames;
  std::shared_ptr<const Error> problem;   // reason that the node can't run; null if none is known
  bool isFunctionCall = false;            // `op` names a function, `attrs` instantiate it
  bool isSwitch = false;                  // an If whose condition must be a bool scalar
  bool isGradient = false;                // calls the gradient of its function
  std::shared_ptr<const SoftInputs> soft; // null if it has none
  std::shared_ptr<const LoopSpec> loop;   // a While with graphs instead of function names
  std::shared_ptr<const LoopPlans> plans; // plans of `loop`, set while a plan is built
  std::shared_ptr<const ClusterBody> cluster; // null unless the node is a cluster
};

/// Selects iterations of the frames around a value: one selector per frame, outermost first.
struct IterationSelector {
  enum Kind : uint8_t { At, Last, All } kind = At;
  int64_t iteration = 0; // for At
};

/// A result of the graph.
struct ResultSpec {
  Endpoint from;
  std::string name;                          // for error messages
  std::vector<IterationSelector> iterations; // empty: the first iteration of each frame
};

/// A graph or a function body. Nodes are in program order.
struct GraphSpec {
  std::string name; // for error messages
  std::vector<NodeSpec> nodes;
  std::vector<Endpoint> args; // arguments: output 0 of nodes with op `_Arg`
  std::vector<ResultSpec> results;
};

/// The graphs of a loop. Both take all loop variables; the condition returns whether to continue,
/// the body the variables of the next iteration.
struct LoopSpec {
  GraphSpec cond, body;
};

} // namespace treadle
