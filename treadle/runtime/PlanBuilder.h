// Internal to the runtime: the steps that building a plan is made of.
#pragma once

#include "treadle/runtime/Plan.h"
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

/// True if the node, or a function that it calls, may wait for another op.
bool mayBlock(const NodeSpec &spec, const PlanNode &node, const PlanOptions &options);

/// True if the node's op waits inside its call, or one in a function that it calls.
bool waits(const NodeSpec &spec, const PlanNode &node, const PlanOptions &options);

/// Functions that the node names in its attributes.
std::vector<FunctionRef> calledFunctions(const NodeSpec &spec);

/// Replaces each BatchFunction by a call between two nodes that fill its batch up and cut it again.
void expandBatchFunctions(GraphSpec &graph);

/// Puts a `_Read` before each op of the executor that wants a value and gets a reference.
Expected<void> readReferencesAtBorders(GraphSpec &graph);

/// The nodes in an order that keeps all edges, the soft ones as softEdges() gives them too, and
/// otherwise the program order. NextIteration's edge to its Merge doesn't count. InvalidArgument,
/// naming nodes, where there is a cycle.
Expected<std::vector<int32_t>> executionOrder(const GraphSpec &graph,
                                              const std::vector<SoftEdge> &soft = {});

/// The frames of a graph, and where its nodes are. Frame 0 is what is outside all loops.
struct FrameAssignment {
  std::vector<PlanFrame> frames;
  std::vector<uint32_t> frameOf;   // by node
  std::vector<int32_t> childFrame; // by node: the frame that an Enter opens, else -1
};

/// InvalidArgument where a node's inputs are in different frames, or a loop has no iterations.
Expected<FrameAssignment> assignFrames(const GraphSpec &graph);

/// Lays out a plan with slots, or with counters. A plan with slots that `mayBlock` can't run: the
/// graph is whole again then, for the other layout.
Expected<std::unique_ptr<Plan>> buildSequential(GraphSpec &graph, const PlanOptions &options);
Expected<std::unique_ptr<Plan>> buildDataflow(GraphSpec &graph, const PlanOptions &options);

/// A kernel that fails with the error that is its state.
BoundKernel failingKernel(Error error);

} // namespace treadle::plan
