// A plan: a graph made ready to run, with its kernels bound; immutable once built and shared by all
// runs. There are two: SequentialPlan, of a graph that has no frames and nothing that waits, and
// DataflowPlan, of any.
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

/// How a plan's arguments reach it.
enum class ArgMode : uint8_t {
  Owned,    // the plan may take them
  Borrowed, // the caller keeps them (a loop's condition): never taken, never cleared
  LoopBody, // owned, but an argument handed on unchanged as the result of the same number stays put
};

/// What a function makes of two values of one dtype.
enum class Combination : uint8_t { Other, Second, Sum, Product, Min, Max };

/// How a comparator orders rows: by keys, strongest first.
struct SortOrder {
  std::vector<bool> isDescending;   // for each key; none: the keys aren't known
  std::shared_ptr<const Plan> keys; // gives the keys of a row, which it takes as both rows
};

/// Where plans of functions come from. Thread-safe; plans live as long as the library.
class FunctionLibrary {
public:
  virtual ~FunctionLibrary() = default;
  /// NotFound if there is no such function; errors of building its plan.
  virtual Expected<const Plan *> plan(const FunctionRef &function, ArgMode mode) = 0;
  /// The name of the function that computes the gradients of this one.
  virtual Expected<std::string> gradientOf(const std::string &function) {
    return Unexpected(notFound("nobody has the gradient of function '", function, "'"));
  }
  /// True if the function or one that it calls holds an op that may wait for another op.
  virtual bool mayBlock(const std::string &function) = 0;
  /// True if it holds an op that waits inside its call.
  virtual bool waits(const std::string &) { return false; }
  /// True if the function, called with tensors of one shape, is known to compute for each element
  /// what it computes for scalars.
  virtual bool isElementwise(const std::string &) { return false; }
  /// Other where it isn't known.
  virtual Combination combination(const std::string &, DType) { return Combination::Other; }
  /// Of a function that takes two elements of each column, and says whether the first row is less.
  virtual Expected<SortOrder> sortOrder(const std::string &) { return SortOrder{}; }
};

/// What nodes that stand for clusters are in plans.
inline constexpr std::string_view clusterOp = "_Cluster";

/// Where the kernels of clusters come from.
class ClusterLibrary {
public:
  virtual ~ClusterLibrary() = default;
  /// A kernel that computes what the node's cluster does.
  virtual BoundKernel bind(const NodeSpec &node) = 0;
};

enum class NodeKind : uint8_t {
  Kernel,
  Arg,
  Constant, // a value that is known
  Alias,    // hands its input on unchanged
  NoOp,
  Switch,
  SwitchN,
  Merge,
  Enter,
  Exit,
  NextIteration,
  Call, // a call, or a conditional: of a function chosen when it runs
  While,
  For,
};

constexpr bool callsFunctions(NodeKind kind) { return kind >= NodeKind::Call; }
constexpr bool isFrameBorder(NodeKind kind) {
  return kind >= NodeKind::Enter && kind <= NodeKind::NextIteration;
}
/// A Merge runs with one live input; it is dead if all are.
constexpr bool needsAllInputs(NodeKind kind) { return kind != NodeKind::Merge; }
/// Only where there are such nodes may others be dead.
constexpr bool isBranching(NodeKind kind) {
  return kind >= NodeKind::Switch && kind <= NodeKind::Merge;
}

struct PlanNode {
  KernelFn fn = nullptr;
  const void *state = nullptr;
  uint32_t inputBegin = 0;  // where its inputs are, as the plan says
  uint32_t outputBegin = 0; // where its outputs go
  uint32_t inputCount = 0;
  uint32_t outputCount = 0;
  NodeKind kind = NodeKind::Kernel;
  bool clearsOutputs = false; // some outputs are used by nobody (of a SequentialPlan)
  bool isExpensive = false;
  bool runsDead = false; // whatever its inputs are
  bool mayBlock = false;
  bool waits = false; // as OpTraits::waits; of a call: something in the function does
  uint32_t info = 0;  // into Plan::infos: its number in the graph
};

/// What is needed of a node only on unusual paths.
struct NodeInfo {
  std::string name;
  std::string op;
  std::shared_ptr<const void> state; // keeps PlanNode::state alive
  bool isUnbound = false;            // it has no kernel: its state is the Error that it fails with
  bool isCluster = false;
};

/// Whether the node runs functions: an error in one names a node of its own.
inline bool runsFunctions(const PlanNode &node, const NodeInfo &info) {
  return callsFunctions(node.kind) || info.isCluster;
}

class Plan {
public:
  virtual ~Plan() = default;
  /// Runs it to its end on this thread (and the run's threads): one tensor a result.
  virtual Expected<std::vector<Tensor>> run(std::vector<Tensor> args, RunState &run) const = 0;

  std::string name;
  const bool isSequential;
  bool mayBlock = false;
  std::vector<PlanNode> nodes;
  std::vector<NodeInfo> infos; // by node of the graph; empty of those that the plan doesn't have
  std::vector<ValueType> argTypes;
  std::vector<ResultSpec> results;
  std::vector<ValueType> resultTypes;

protected:
  explicit Plan(bool isSequential) : isSequential(isSequential) {}
};

struct PlanOptions {
  const KernelRegistry *kernels = nullptr;
  FunctionLibrary *functions = nullptr; // may be null: no functions
  ArgMode argMode = ArgMode::Owned;
  LoopOverlap loopOverlap = LoopOverlap::Auto;
  const OpTraitsTable *traits = nullptr; // may be null
  ClusterLibrary *clusters = nullptr;    // may be null where no node is a cluster
};

/// Builds the plan of a graph. Ops without a kernel, and binds that fail, become nodes that fail
/// when they are reached. Errors here are those of the graph itself: a cycle outside a loop, frames
/// that don't nest, a loop with no parallel iteration.
Expected<std::unique_ptr<Plan>> buildPlan(GraphSpec graph, const PlanOptions &options);

} // namespace treadle
