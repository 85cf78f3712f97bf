// Internal to the runtime: plans whose nodes run when their inputs have arrived.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

/// A place that a value goes to.
struct PlanEdge {
  static constexpr int32_t control = -1;
  static constexpr int32_t softControl = -2; // whoever waits so doesn't die with the other

  uint32_t node;
  int32_t input; // index into the frame's inputs, or one of these
};

/// Counters of a node in an iteration, as they start.
struct NodeCounter {
  int32_t pending; // inputs still to come; of a Merge: 2 a control input, plus 1 until a live value
                   // came
  uint32_t dead = 0; // dead data inputs so far
  uint32_t flags = 0;
};

/// A v1 frame, statically. Frame 0 is the graph outside all loops.
struct PlanFrame {
  std::string name;
  int32_t parent = -1;
  int32_t parallelIterations = 1;
  uint32_t numInputs = 0; // of all its nodes
  uint32_t numEnters = 0;
  uint32_t depth = 0;
  std::vector<NodeCounter> counters; // of its nodes, as an iteration starts
};

/// Where a node is, and what it is there.
struct NodePlace {
  uint32_t frame = 0;
  uint32_t counter = 0;                    // into those of its frame
  int32_t childFrame = -1;                 // the frame that an Enter opens
  int32_t argument = -1;                   // number of the argument that an Arg is
  uint32_t resultBegin = 0, resultEnd = 0; // into DataflowPlan::resultsByNode
  bool isConstantEnter = false;
};

/// A plan of any graph: a node runs, dead or alive, when its inputs have arrived in its frame and
/// iteration.
///
/// Nodes are numbered as in the graph. Inputs of all nodes of a frame stand in one array of each
/// iteration, those of a node from PlanNode::inputBegin; where output `o` goes to is in `edges`
/// from edgeBegins[PlanNode::outputBegin + o], and after its last output stand its control edges.
class DataflowPlan final : public Plan {
public:
  DataflowPlan() : Plan(false) {}
  /// Null if it is another plan.
  static const DataflowPlan *from(const Plan &plan) {
    return plan.isSequential ? nullptr : static_cast<const DataflowPlan *>(&plan);
  }

  Expected<std::vector<Tensor>> run(std::vector<Tensor> args, RunState &run) const override;

  std::vector<PlanFrame> frames;
  std::vector<NodePlace> places; // by node
  std::vector<uint32_t> edgeBegins;
  std::vector<PlanEdge> edges;
  std::vector<uint32_t> roots;         // nodes without inputs
  std::vector<uint32_t> resultsByNode; // numbers of the results, those of one node together
};

} // namespace treadle
