// A plan: a graph made ready to run. Flat arrays of nodes with their kernels bound, and of the
// places where values go; immutable once built and shared by all runs.
//
// There are two layouts. A *sequential* plan has no frames and nothing that waits: its nodes stand
// in the order in which one thread runs them, every value has a slot, and the last use of a slot is
// known. A *dataflow* plan has counters: a node runs when its inputs have arrived, in its frame and
// iteration, dead or alive.
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
class SettledPart;

/// How a plan's arguments reach it.
enum class ArgMode : uint8_t {
  Owned,    // the plan may take them
  Borrowed, // the caller keeps them (a loop's condition): never taken, never cleared
  LoopBody, // owned, but an argument handed on unchanged as the result of the same number stays put
};

/// What a function makes of two values of one dtype.
enum class Combination : uint8_t { Other, Sum, Second };

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

/// On calls of functions that are worth compiling: a bool.
inline constexpr std::string_view clusterAttr = "_cluster";

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
  Constant,
  NoOp,
  Switch, // also RefSwitch and SwitchN
  Merge,
  Enter,
  Exit,
  NextIteration,
  Call, // a call, or a conditional: of a function chosen when it runs
  While,
  For,
};

struct PlanNode {
  KernelFn fn = nullptr;
  const void *state = nullptr;
  uint32_t inputBegin = 0;  // into Plan::inputIndices (sequential) or the frame's inputs (dataflow)
  uint32_t outputBegin = 0; // slot of output 0 (sequential), first entry in edgeBegins (dataflow)
  uint32_t inputCount = 0;
  uint32_t outputCount = 0;
  NodeKind kind = NodeKind::Kernel;
  bool clearsOutputs = false; // some outputs are used by nobody (sequential)
  bool isExpensive = false;
  bool mayBlock = false;
  bool waits = false; // as OpTraits::waits; of a call: something in the function does
  uint32_t info = 0;  // into Plan::infos
};

/// What is needed of a node only on unusual paths.
struct NodeInfo {
  std::string name;
  std::string op;
  std::shared_ptr<const void> state; // keeps PlanNode::state alive
  uint32_t programOrder = 0;
  bool isUnbound = false; // it has no kernel: its state is the Error that it fails with
  bool isCluster = false;
};

/// Whether the node runs functions: an error in one names a node of its own.
inline bool runsFunctions(const PlanNode &node, const NodeInfo &info) {
  return node.kind == NodeKind::Call || node.kind == NodeKind::While ||
         node.kind == NodeKind::For || info.isCluster;
}

/// A place that a value goes to (dataflow).
struct PlanEdge {
  static constexpr int32_t control = -1;
  static constexpr int32_t softControl = -2; // whoever waits so doesn't die with the other

  uint32_t node;
  int32_t input; // index into the frame's inputs, or one of these
};

/// A v1 frame, statically (dataflow). Frame 0 is the graph outside all loops.
struct PlanFrame {
  std::string name;
  int32_t parent = -1;
  int32_t parallelIterations = 1;
  uint32_t numNodes = 0;
  uint32_t numInputs = 0;
  uint32_t numEnters = 0;
  uint32_t depth = 0;
};

/// Counters of a node in an iteration, as they start (dataflow).
struct NodeCounter {
  int32_t pending; // inputs still to come; of a Merge: 2 a control input, plus 1 until a live value
                   // came
  uint32_t dead = 0; // dead data inputs so far
  uint32_t flags = 0;
};

class Plan {
public:
  std::string name;
  bool isSequential = true;
  bool hasDeadness = false; // sequential: has Switch or Merge
  bool mayBlock = false;

  std::vector<PlanNode> nodes;
  std::vector<NodeInfo> infos;
  std::vector<Tensor> constants;
  std::vector<ValueType> argTypes;
  std::vector<ResultSpec> results;
  std::vector<ValueType> resultTypes;

  // Sequential.
  uint32_t numSlots = 0; // the first argTypes.size() are the arguments
  std::vector<uint32_t> inputIndices;
  std::vector<uint32_t> resultIndices;
  std::vector<uint8_t> isOutputUnused;        // by slot
  std::vector<uint8_t> isPassThrough;         // by argument: LoopBody's result stays in its slot
  bool resultsNeedTemporaries = false;        // LoopBody: a result is another argument
  std::vector<uint32_t> controlInputs;        // hasDeadness: nodes, by controlBegin
  std::vector<uint32_t> controlBegin;         // hasDeadness: by node, and one more
  std::shared_ptr<const SettledPart> settled; // what needn't run each time; null: nothing

  // Dataflow.
  std::vector<PlanFrame> frames;
  std::vector<uint32_t> frameOf;                         // by node
  std::vector<uint32_t> localIndex;                      // by node: its counter in the frame
  std::vector<std::vector<NodeCounter>> initialCounters; // by frame
  std::vector<uint32_t> edgeBegins; // by output (PlanNode::outputBegin + i; control is the last)
  std::vector<PlanEdge> edges;
  std::vector<uint32_t> roots;                  // nodes without inputs
  std::vector<int32_t> childFrame;              // by node: the frame that an Enter opens
  std::vector<uint8_t> isConstantEnter;         // by node
  std::vector<int32_t> argOf;                   // by node: number of the argument, or -1
  std::vector<std::vector<uint32_t>> resultsOf; // by node: results it gives (numbers), mostly empty
  std::vector<uint8_t> hasResults;              // by node
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

/// Runs a plan to its end on this thread (and the run's threads): one tensor a result.
Expected<std::vector<Tensor>> runPlan(const Plan &plan, std::vector<Tensor> args, RunState &run);

} // namespace treadle
