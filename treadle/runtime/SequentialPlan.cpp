// Lays out a sequential plan: the order of nodes, a slot for each value, and the last use of each
// slot.
#include "treadle/runtime/SequentialPlan.h"

#include "treadle/runtime/CachedPrefix.h"
#include "treadle/runtime/PlanBuilder.h"

#include <algorithm>

namespace treadle::plan {
namespace {

class Layout {
public:
  explicit Layout(BoundGraph from) : bound(std::move(from)) {}
  Expected<std::unique_ptr<Plan>> build();

private:
  void placeNode(int32_t node);
  void placeKernel(int32_t node);
  uint32_t indexOf(Endpoint value) const;
  void placeControls();
  void markPassThrough();
  void markLastUses();
  bool isPinned(uint32_t slot) const;

  BoundGraph bound;
  GraphSpec &graph = bound.graph;
  const ArgMode argMode = bound.options.argMode;
  std::unique_ptr<SequentialPlan> plan = std::make_unique<SequentialPlan>();
  std::vector<uint32_t> indices; // by node: the slot or constant of output 0
};

uint32_t Layout::indexOf(Endpoint value) const {
  uint32_t first = indices[value.node];
  return first & InputIndex::constantBit ? first : first + value.output;
}

void Layout::placeNode(int32_t i) {
  NodeSpec &spec = graph.nodes[i];
  switch (bound.nodes[i].kind) {
  case NodeKind::Arg:
    return;
  case NodeKind::Constant:
    indices[i] = static_cast<uint32_t>(plan->constants.size()) | InputIndex::constantBit;
    plan->constants.push_back(std::get<Tensor>(*spec.attrs.find("value")));
    return;
  case NodeKind::Alias:
    indices[i] = indexOf(spec.inputs[0]);
    return;
  case NodeKind::NoOp:
    return plan->hasDeadness ? placeKernel(i) : void();
  default:
    return placeKernel(i);
  }
}

void Layout::placeKernel(int32_t i) {
  NodeSpec &spec = graph.nodes[i];
  PlanNode &node = plan->nodes.emplace_back(bound.nodes[i]);
  node.inputBegin = static_cast<uint32_t>(plan->inputIndices.size());
  node.outputBegin = indices[i] = plan->numSlots;
  for (Endpoint e : spec.inputs)
    plan->inputIndices.push_back(indexOf(e));
  plan->numSlots += node.outputCount;
  plan->infos[i].name = std::move(spec.name);
  plan->infos[i].op = std::move(spec.op);
}

void Layout::markPassThrough() {
  if (argMode != ArgMode::LoopBody)
    return;
  size_t numArgs = plan->argTypes.size();
  plan->isPassThrough.assign(numArgs, 0);
  for (size_t i = 0; i < numArgs && i < plan->resultIndices.size(); ++i)
    plan->isPassThrough[i] = plan->resultIndices[i] == i;
  for (size_t i = 0; i < plan->resultIndices.size(); ++i)
    plan->resultsNeedTemporaries |= plan->resultIndices[i] < numArgs && plan->resultIndices[i] != i;
}

// Whether the slot may be neither taken nor cleared in this plan.
bool Layout::isPinned(uint32_t slot) const {
  if (slot >= plan->argTypes.size())
    return false;
  return argMode == ArgMode::Borrowed ||
         (argMode == ArgMode::LoopBody && plan->isPassThrough[slot]);
}

// Visits the uses backwards: the first use of a slot that it meets is the last one.
void Layout::markLastUses() {
  std::vector<bool> seen(plan->numSlots);
  auto isSlot = [&](uint32_t index) { return !(index & InputIndex::constantBit); };
  for (size_t r = plan->resultIndices.size(); r-- > 0;) {
    uint32_t &index = plan->resultIndices[r];
    if (!isSlot(index))
      continue;
    uint32_t slot = index;
    if (!seen[slot] && !isPinned(slot))
      index |= InputIndex::takeBit | InputIndex::clearBit;
    seen[slot] = true;
  }
  plan->isOutputUnused.assign(plan->numSlots, 0);
  std::vector<int32_t> uses(plan->numSlots); // uses of each slot by the current node
  for (size_t n = plan->nodes.size(); n-- > 0;) {
    PlanNode &node = plan->nodes[n];
    for (uint32_t o = 0; o < node.outputCount; ++o)
      if (!seen[node.outputBegin + o]) {
        plan->isOutputUnused[node.outputBegin + o] = 1;
        node.clearsOutputs = true;
      }
    uint32_t *inputs = plan->inputIndices.data() + node.inputBegin;
    auto countUses = [&](int32_t change) {
      for (uint32_t i = 0; i < node.inputCount; ++i)
        if (isSlot(inputs[i]))
          uses[inputs[i] & InputIndex::slotMask] += change;
    };
    countUses(1);
    for (uint32_t i = node.inputCount; i-- > 0;) {
      uint32_t slot = inputs[i];
      if (!isSlot(slot) || seen[slot] || isPinned(slot))
        continue;
      // A value that the node reads twice can't be taken by it, only cleared after it.
      bool isTwice = uses[slot] > 1;
      inputs[i] |= isTwice ? InputIndex::clearBit : InputIndex::clearBit | InputIndex::takeBit;
      seen[slot] = true;
    }
    countUses(-1);
    for (uint32_t i = 0; i < node.inputCount; ++i)
      if (isSlot(inputs[i]))
        seen[inputs[i] & InputIndex::slotMask] = true;
  }
}

// Records the control inputs that may be dead.
void Layout::placeControls() {
  if (!plan->hasDeadness)
    return;
  auto mayBeDead = [&](int32_t i) {
    return bound.nodes[i].kind != NodeKind::Arg && bound.nodes[i].kind != NodeKind::Constant;
  };
  for (const NodeSpec &node : graph.nodes) {
    plan->controlBegin.push_back(static_cast<uint32_t>(plan->controlInputs.size()));
    std::ranges::copy_if(node.controls, std::back_inserter(plan->controlInputs), mayBeDead);
  }
  plan->controlBegin.push_back(static_cast<uint32_t>(plan->controlInputs.size()));
}

Expected<std::unique_ptr<Plan>> Layout::build() {
  std::vector<int32_t> order = TREADLE_TRY(executionOrder(graph, softEdges(graph)));
  plan->hasDeadness = bound.hasDeadness;
  plan->infos = std::move(bound.infos);
  plan->nodes.reserve(graph.nodes.size());
  indices.resize(graph.nodes.size());
  for (Endpoint arg : graph.args)
    indices[arg.node] = plan->numSlots++;
  for (int32_t node : order)
    placeNode(node);
  for (const ResultSpec &result : graph.results)
    plan->resultIndices.push_back(indexOf(result.from));
  setSignature(*plan, graph);
  placeControls();
  markPassThrough();
  markLastUses();
  plan->cachedPrefix = CachedPrefix::find(graph, *plan, bound.options);
  return std::move(plan);
}

} // namespace

Expected<std::unique_ptr<Plan>> buildSequential(BoundGraph bound) {
  return Layout(std::move(bound)).build();
}

} // namespace treadle::plan
