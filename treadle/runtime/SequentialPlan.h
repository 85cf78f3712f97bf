// Internal to the runtime: plans that one thread runs from the first node to the last.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

class SettledPart;

/// Some nodes of a plan, with the places of their inputs.
struct NodeList {
  std::span<const PlanNode> nodes;
  const uint32_t *inputIndices; // of all inputs of the plan
  const Tensor *constants;
};

/// A plan of a graph that has no frames and nothing that waits. Its nodes stand in the order in
/// which they run, every value has a slot, and the last use of each slot is known. Arguments are
/// the first slots; what is constant has none.
///
///   slots of the arguments = args
///   for node in nodes:
///     if a data input is empty or a control input was dead:  (only where hasDeadness)
///       the node is dead: its outputs stay empty
///     else:
///       outputs = kernel(inputs), which may take inputs whose last use this is
///     clear the slots whose last use this was, and outputs that nobody uses
///   return the slots of the results
///
/// Runs on the calling thread alone; any number of threads may run one plan, each with slots of its
/// own (Frame).
class SequentialPlan final : public Plan {
public:
  SequentialPlan() : Plan(true) {}
  /// Null if it is another plan.
  static const SequentialPlan *from(const Plan &plan) {
    return plan.isSequential ? static_cast<const SequentialPlan *>(&plan) : nullptr;
  }

  Expected<std::vector<Tensor>> run(std::vector<Tensor> args, RunState &run) const override;
  /// Runs its nodes over slots that have its arguments; false, with `error` set. What its settled
  /// part has is not computed again.
  bool runNodes(Tensor *slots, RunState &run, std::unique_ptr<Error> &error) const;
  /// The same of some of its nodes, in their order.
  bool runNodes(const NodeList &list, Tensor *slots, RunState &run,
                std::unique_ptr<Error> &error) const;
  /// A result, after its nodes have run: moved out where that is its last use.
  Tensor takeResult(Tensor *slots, size_t result) const {
    uint32_t index = resultIndices[result], slot = index & InputIndex::slotMask;
    if (index & InputIndex::constantBit)
      return constants[slot];
    return index & InputIndex::takeBit ? std::move(slots[slot]) : slots[slot];
  }

  bool hasDeadness = false; // has Switch or Merge
  uint32_t numSlots = 0;    // the first argTypes.size() are the arguments
  std::vector<Tensor> constants;
  std::vector<uint32_t> inputIndices; // of the nodes, from PlanNode::inputBegin: as InputIndex says
  std::vector<uint32_t> resultIndices;        // of the results, in the same way
  std::vector<uint8_t> isOutputUnused;        // by slot
  std::vector<uint8_t> isPassThrough;         // by argument: LoopBody's result stays in its slot
  bool resultsNeedTemporaries = false;        // LoopBody: a result is another argument
  std::vector<uint32_t> controlInputs;        // hasDeadness: nodes of the graph, by controlBegin
  std::vector<uint32_t> controlBegin;         // hasDeadness: by node of the graph, and one more
  std::shared_ptr<const SettledPart> settled; // what needn't run each time; null: nothing
};

} // namespace treadle
