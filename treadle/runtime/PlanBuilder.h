// Internal to the runtime: the steps of building a plan.
#pragma once

#include "treadle/runtime/DataflowPlan.h"
#include "treadle/runtime/SoftOrder.h"

namespace treadle {

/// The plans of a While with graphs instead of function names.
struct LoopPlans {
  std::shared_ptr<const Plan> cond, body;
};

} // namespace treadle

namespace treadle::plan {

/// Returns the kind of a node, derived from its op.
NodeKind classify(const NodeSpec &node);

/// Binds the node's kernel. If that fails, binds one that returns the error when it runs.
void bindNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node, NodeInfo &info);

/// Binds a node that calls functions (calls, conditionals, loops).
void bindFunctionNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node,
                      NodeInfo &info);

/// Returns the kernel that a sequential plan uses for a NoOp, Switch or Merge.
KernelFn controlKernel(NodeKind kind);

/// Returns the functions that the node names in its attributes.
std::vector<FunctionRef> calledFunctions(const NodeSpec &spec);

/// Replaces each BatchFunction by a call between two nodes that fill its batch and split it again.
void expandBatchFunctions(GraphSpec &graph);

/// Inserts a `_Read` before each executor op that takes a value and gets a reference.
Expected<void> readReferencesAtBorders(GraphSpec &graph);

/// Returns the nodes in an order that respects all edges, including the soft ones that softEdges()
/// returns, and otherwise keeps the program order. Back edges are ignored. Returns InvalidArgument,
/// naming nodes, if there is a cycle.
Expected<std::vector<int32_t>> executionOrder(const GraphSpec &graph,
                                              const std::vector<SoftEdge> &soft = {});

/// Whether the edge is a back edge of a loop, from a NextIteration to a Merge. Orders ignore these.
bool isBackEdge(const NodeSpec &node, const NodeSpec &source);

/// The frames of a graph, and the frame of each node.
struct FrameAssignment {
  std::vector<PlanFrame> frames;
  std::vector<NodeLocation> locations; // by node: its frame, and the frame that it opens
};

/// Returns InvalidArgument if a node has inputs from different frames, or a loop allows no
/// iterations.
Expected<FrameAssignment> assignFrames(const GraphSpec &graph);

/// A graph with bound nodes whose layout isn't decided yet; the input of both layouts.
struct BoundGraph {
  GraphSpec &graph;
  const PlanOptions &options;
  std::vector<PlanNode> nodes; // by node of the graph, like the infos; nodes that a SequentialPlan
                               // omits aren't bound
  std::vector<NodeInfo> infos;
  bool hasDeadness = false;
  bool needsDataflow = false;
};

/// Returns InvalidArgument if a node has inputs or outputs that its op can't have.
Expected<BoundGraph> bindNodes(GraphSpec &graph, const PlanOptions &options);

/// Lays out a plan. buildSequential() requires a graph without frames and suspending ops.
Expected<std::unique_ptr<Plan>> buildSequential(BoundGraph bound);
Expected<std::unique_ptr<Plan>> buildDataflow(BoundGraph bound);

/// Sets the parts of a plan other than its nodes.
void setSignature(Plan &plan, GraphSpec &graph);

/// Returns a kernel that fails with `error`.
BoundKernel failingKernel(Error error);

} // namespace treadle::plan
