// Internal to the runtime: plans whose nodes run when their inputs have arrived.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

/// An edge from an output, or from the node itself, to an input of a consumer.
struct PlanEdge {
  static constexpr int32_t control = -1;
  static constexpr int32_t softControl = -2; // the consumer doesn't become dead with the producer

  uint32_t node;
  int32_t input; // index into the frame's inputs, or one of the constants above
};

/// Initial counters of a node in an iteration.
struct NodeCounter {
  int32_t pending; // outstanding inputs; for a Merge: 2 for each control input, plus 1 until a live
                   // value arrives
  uint32_t dead = 0; // dead data inputs so far
  uint32_t flags = 0;
};

/// The static part of a v1 frame. Frame 0 is the graph outside all loops.
struct PlanFrame {
  std::string name;
  int32_t parent = -1;
  int32_t parallelIterations = 1;
  uint32_t numInputs = 0; // total of all its nodes
  uint32_t numEnters = 0;
  uint32_t depth = 0;
  std::vector<NodeCounter> counters; // initial counters of its nodes
};

/// The frame and role of a node.
struct NodeLocation {
  uint32_t frame = 0;
  uint32_t counter = 0;                    // index into the counters of its frame
  int32_t childFrame = -1;                 // frame that an Enter opens
  int32_t argument = -1;                   // argument number of an Arg
  uint32_t resultBegin = 0, resultEnd = 0; // range in DataflowPlan::resultsByNode
  bool isConstantEnter = false;
};

/// A plan of an arbitrary graph: each node runs, live or dead, when its inputs have arrived in its
/// frame and iteration.
///
/// Nodes are numbered as in the graph. An iteration keeps the inputs of all nodes of its frame in
/// one array; those of a node start at PlanNode::inputBegin. The edges of output `o` start at
/// edgeBegins[PlanNode::outputBegin + o] in `edges`; the node's control edges follow those of its
/// last output.
class DataflowPlan final : public Plan {
public:
  DataflowPlan() : Plan(false) {}
  /// Returns nullptr if the plan isn't a DataflowPlan.
  static const DataflowPlan *from(const Plan &plan) {
    return plan.isSequential ? nullptr : static_cast<const DataflowPlan *>(&plan);
  }

  Expected<std::vector<Tensor>> run(std::vector<Tensor> args, RunState &run) const override;

  std::vector<PlanFrame> frames;
  std::vector<NodeLocation> locations; // by node
  std::vector<uint32_t> edgeBegins;
  std::vector<PlanEdge> edges;
  std::vector<uint32_t> roots;         // nodes without inputs
  std::vector<uint32_t> resultsByNode; // result numbers, grouped by node
};

} // namespace treadle
