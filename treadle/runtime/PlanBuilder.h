// Internal to the runtime: the steps that building a plan is made of.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle::plan {

/// What an op is to the executors, told from its name.
NodeKind classify(const NodeSpec &node);

/// Binds the node's kernel; never fails: what can't be bound becomes a kernel that fails when reached.
void bindNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node, NodeInfo &info);

/// Binds a node that calls functions (calls, conditionals, loops).
void bindFunctionNode(const NodeSpec &spec, const PlanOptions &options, PlanNode &node,
                      NodeInfo &info);

/// True if the node, or a function that it calls, may wait for another op.
bool mayBlock(const NodeSpec &spec, const PlanNode &node, FunctionLibrary *functions);

/// Functions that the node names in its attributes.
std::vector<FunctionRef> calledFunctions(const NodeSpec &spec);

/// The nodes in an order that keeps all edges and otherwise the program order. NextIteration's edge
/// to its Merge doesn't count. InvalidArgument, naming nodes, where there is a cycle.
Expected<std::vector<int32_t>> executionOrder(const GraphSpec &graph);

/// Lays out a plan with slots, or with counters.
Expected<std::unique_ptr<Plan>> buildSequential(GraphSpec &graph, const PlanOptions &options);
Expected<std::unique_ptr<Plan>> buildDataflow(GraphSpec &graph, const PlanOptions &options);

/// A kernel that fails with the error that is its state.
BoundKernel failingKernel(Error error);

} // namespace treadle::plan
