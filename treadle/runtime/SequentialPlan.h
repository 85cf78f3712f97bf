// Internal to the runtime: plans that one thread runs from the first node to the last.
#pragma once

#include "treadle/runtime/Plan.h"

namespace treadle {

class CachedPrefix;

/// Some nodes of a plan, with the indices of their inputs.
struct NodeList {
  std::span<const PlanNode> nodes;
  const uint32_t *inputIndices; // of all inputs of the plan
  const Tensor *constants;
};

/// A plan of a graph without frames and suspending ops. Nodes are in execution order, every value
/// has a slot, and the last use of each slot is known. Arguments are the first slots; constants
/// have none.
///
///   slots of the arguments = args
///   for node in nodes:
///     if a data input is empty or a control input was dead:  (only if hasDeadness)
///       the node is dead: its outputs stay empty
///     else:
///       outputs = kernel(inputs), which may take inputs at their last use
///     clear the slots at their last use, and unused outputs
///   return the slots of the results
///
/// A run uses the calling thread only. Any number of threads may run one plan, each with its own
/// slots (SlotFrame).
class SequentialPlan final : public Plan {
public:
  SequentialPlan() : Plan(true) {}
  /// Returns nullptr if the plan isn't a SequentialPlan.
  static const SequentialPlan *from(const Plan &plan) {
    return plan.isSequential ? static_cast<const SequentialPlan *>(&plan) : nullptr;
  }

  Expected<std::vector<Tensor>> run(std::vector<Tensor> args, RunState &run) const override;
  /// Runs the nodes over slots that hold the arguments. Returns false, with `error` set, after a
  /// failure. Values of the cached prefix aren't recomputed.
  bool runNodes(Tensor *slots, RunState &run, std::unique_ptr<Error> &error) const;
  /// Runs only these nodes, in their order.
  bool runNodes(const NodeList &list, Tensor *slots, RunState &run,
                std::unique_ptr<Error> &error) const;
  /// Returns a result after the nodes have run; moved if this is its last use.
  Tensor takeResult(Tensor *slots, size_t result) const {
    uint32_t index = resultIndices[result], slot = index & InputIndex::slotMask;
    if (index & InputIndex::constantBit)
      return constants[slot];
    return index & InputIndex::takeBit ? std::move(slots[slot]) : slots[slot];
  }

  bool hasDeadness = false; // has Switch or Merge
  uint32_t numSlots = 0;    // the first argTypes.size() slots are the arguments
  std::vector<Tensor> constants;
  std::vector<uint32_t> inputIndices;  // of the nodes, from PlanNode::inputBegin, encoded as
                                       // InputIndex
  std::vector<uint32_t> resultIndices; // of the results, encoded in the same way
  std::vector<uint8_t> isOutputUnused; // by slot
  std::vector<uint8_t> isPassThrough;  // by argument: the result of a LoopBody stays in its
                                       // slot
  bool resultsNeedTemporaries = false; // of a LoopBody: a result is another argument
  std::vector<uint32_t> controlInputs; // if hasDeadness: nodes of the graph, by controlBegin
  std::vector<uint32_t> controlBegin;  // if hasDeadness: by node of the graph, plus an end
  std::shared_ptr<const CachedPrefix> cachedPrefix; // nodes that needn't run each time; null: none
};

} // namespace treadle
