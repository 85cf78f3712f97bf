// A plan: a graph prepared for execution, with its kernels bound. Plans are immutable and shared by
// all runs. There are two kinds: SequentialPlan, for graphs without frames and suspending ops, and
// DataflowPlan, for any graph.
#pragma once

#include "treadle/runtime/Graph.h"
#include "treadle/runtime/Kernel.h"
#include "treadle/runtime/Modes.h"
#include "treadle/runtime/OpTraits.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace treadle {

class Plan;
class RunState;

/// How a plan receives its arguments.
enum class ArgMode : uint8_t {
  Owned,    // the plan may take them
  Borrowed, // the caller keeps them (the condition of a loop): never taken, never cleared
  LoopBody, // owned, but an argument returned unchanged as the result with the same number stays in
            // its slot
};

/// The binary function that a function computes on two values of one dtype.
enum class Combination : uint8_t { Other, Second, Sum, Product, Min, Max };

/// The order that a comparator defines on rows: by keys, the most significant first.
struct SortOrder {
  std::vector<bool> isDescending;   // for each key; empty if the keys aren't known
  std::shared_ptr<const Plan> keys; // computes the keys of a row, which is passed as both rows
};

/// Provides the plans of functions. Thread-safe; plans live as long as the library.
class FunctionLibrary {
public:
  virtual ~FunctionLibrary() = default;
  /// Returns NotFound if there is no such function, or the error of building its plan.
  virtual Expected<const Plan *> plan(const FunctionRef &function, ArgMode mode) = 0;
  /// Returns the name of the function that computes the gradients of `function`.
  virtual Expected<std::string> gradientOf(const std::string &function) {
    return Unexpected(notFound("no gradient is registered for function '", function, "'"));
  }
  /// True if the function, or one that it calls, contains an op that may suspend.
  virtual bool mayBlock(const std::string &function) = 0;
  /// True if it contains an op that blocks its thread (OpTraits::waits).
  virtual bool waits(const std::string &) { return false; }
  /// True if the function, called with tensors of one shape, is known to apply its scalar
  /// computation to each element.
  virtual bool isElementwise(const std::string &) { return false; }
  /// Returns Other if it isn't known.
  virtual Combination combination(const std::string &, DType) { return Combination::Other; }
  /// Analyzes a function that takes two elements of each column and returns whether the first row
  /// is less.
  virtual Expected<SortOrder> sortOrder(const std::string &) { return SortOrder{}; }
};

/// The op of nodes that represent clusters in plans.
inline constexpr std::string_view clusterOp = "_Cluster";

/// Provides the kernels of clusters.
class ClusterLibrary {
public:
  virtual ~ClusterLibrary() = default;
  /// Returns a kernel that computes the node's cluster.
  virtual BoundKernel bind(const NodeSpec &node) = 0;
};

enum class NodeKind : uint8_t {
  Kernel,
  Arg,
  Constant, // a known value
  Alias,    // forwards its input
  NoOp,
  Switch,
  SwitchN,
  Merge,
  Enter,
  Exit,
  NextIteration,
  Call, // a call or a conditional
  While,
  For,
};

constexpr bool callsFunctions(NodeKind kind) { return kind >= NodeKind::Call; }
constexpr bool isFrameBorder(NodeKind kind) {
  return kind >= NodeKind::Enter && kind <= NodeKind::NextIteration;
}
/// A Merge runs with one live input; it is dead if all inputs are.
constexpr bool needsAllInputs(NodeKind kind) { return kind != NodeKind::Merge; }
/// Nodes that can make others dead.
constexpr bool isBranching(NodeKind kind) {
  return kind >= NodeKind::Switch && kind <= NodeKind::Merge;
}

struct PlanNode {
  KernelFn fn = nullptr;
  const void *state = nullptr;
  uint32_t inputBegin = 0;  // position of its inputs, as defined by the kind of plan
  uint32_t outputBegin = 0; // position of its outputs, as defined by the kind of plan
  uint32_t inputCount = 0;
  uint32_t outputCount = 0;
  NodeKind kind = NodeKind::Kernel;
  bool clearsOutputs = false; // some outputs are unused (SequentialPlan only)
  bool isExpensive = false;
  bool runsDead = false; // runs even with dead inputs
  bool mayBlock = false;
  bool waits = false; // like OpTraits::waits; for a call: an op of the function waits
  uint32_t info = 0;  // index into Plan::infos: its number in the graph
};

/// Properties of a node that are used on cold paths only.
struct NodeInfo {
  std::string name;
  std::string op;
  std::shared_ptr<const void> state; // keeps PlanNode::state alive
  bool isUnbound = false;            // it has no kernel: its state is the Error that it returns
  bool isCluster = false;
};

/// Whether the node runs functions; an error in one names its own node.
inline bool runsFunctions(const PlanNode &node, const NodeInfo &info) {
  return callsFunctions(node.kind) || info.isCluster;
}

class Plan {
public:
  virtual ~Plan() = default;
  /// Runs the plan to its end on this thread (and the run's workers). Returns one tensor per
  /// result.
  virtual Expected<std::vector<Tensor>> run(std::vector<Tensor> args, RunState &run) const = 0;

  std::string name;
  const bool isSequential;
  bool mayBlock = false;
  std::vector<PlanNode> nodes;
  std::vector<NodeInfo> infos; // by node of the graph; empty for those that the plan omits
  std::vector<ValueType> argTypes;
  std::vector<ResultSpec> results;
  std::vector<ValueType> resultTypes;

protected:
  explicit Plan(bool isSequential) : isSequential(isSequential) {}
};

struct PlanOptions {
  const KernelRegistry *kernels = nullptr;
  FunctionLibrary *functions = nullptr; // null: no functions
  ArgMode argMode = ArgMode::Owned;
  LoopOverlap loopOverlap = LoopOverlap::Auto;
  const OpTraitsTable *traits = nullptr; // null: none
  ClusterLibrary *clusters = nullptr;    // null: no clusters
};

/// Builds the plan of a graph. Nodes without a kernel, or whose bind fails, become nodes that fail
/// when they run. Returns errors of the graph itself: a cycle outside a loop, frames that don't
/// nest, a loop with no parallel iteration.
Expected<std::unique_ptr<Plan>> buildPlan(GraphSpec graph, const PlanOptions &options);

} // namespace treadle
