// Internal to the runtime: the steps that building a plan is made of.
#pragma once

#include "treadle/runtime/DataflowPlan.h"
#include "treadle/runtime/SoftOrder.h"

namespace treadle {

/// The plans of a loop that has its graphs with it.
struct LoopPlans {
  std::shared_ptr<const Plan> cond, body;
};

} // namespace treadle

namespace treadle::plan {

/// What an op is to the executors, told from its name.
NodeKind classify(const NodeSpec &node);

/// Binds the node's kernel; never fails: what can't be bound becomes a kernel that fails when
/// reached.
void bindNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node, NodeInfo &info);

/// Binds a node that calls functions (calls, conditionals, loops).
void bindFunctionNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node,
                      NodeInfo &info);

/// What a plan without counters runs for a NoOp, Switch or Merge.
KernelFn controlKernel(NodeKind kind);

/// Functions that the node names in its attributes.
std::vector<FunctionRef> calledFunctions(const NodeSpec &spec);

/// Replaces each BatchFunction by a call between two nodes that fill its batch up and cut it again.
void expandBatchFunctions(GraphSpec &graph);

/// Puts a `_Read` before each op of the executor that wants a value and gets a reference.
Expected<void> readReferencesAtBorders(GraphSpec &graph);

/// The nodes in an order that keeps all edges, the soft ones as softEdges() gives them too, and
/// otherwise the program order. Back edges don't count. InvalidArgument, naming nodes, where there
/// is a cycle.
Expected<std::vector<int32_t>> executionOrder(const GraphSpec &graph,
                                              const std::vector<SoftEdge> &soft = {});

/// Whether the edge goes back in a loop: from a NextIteration to a Merge. It counts for no order.
bool isBackEdge(const NodeSpec &node, const NodeSpec &source);

/// The frames of a graph, and where its nodes are.
struct FrameAssignment {
  std::vector<PlanFrame> frames;
  std::vector<NodePlace> places; // by node: its frame, and the one that it opens
};

/// InvalidArgument where a node's inputs are in different frames, or a loop has no iterations.
Expected<FrameAssignment> assignFrames(const GraphSpec &graph);

/// A graph whose nodes are bound and have no places yet: what plans are built from.
struct BoundGraph {
  GraphSpec &graph;
  const PlanOptions &options;
  std::vector<PlanNode> nodes; // by node of the graph, as are the infos; kernels that a
                               // SequentialPlan has no node for aren't bound
  std::vector<NodeInfo> infos;
  bool hasDeadness = false;
  bool needsDataflow = false;
};

/// InvalidArgument where a node has inputs or outputs that its op can't have.
Expected<BoundGraph> bindNodes(GraphSpec &graph, const PlanOptions &options);

/// The first for graphs that don't need the other.
Expected<std::unique_ptr<Plan>> buildSequential(BoundGraph bound);
Expected<std::unique_ptr<Plan>> buildDataflow(BoundGraph bound);

/// What all plans have but nodes.
void setSignature(Plan &plan, GraphSpec &graph);

/// A kernel that fails with the error that is its state.
BoundKernel failingKernel(Error error);

} // namespace treadle::plan
