// Lays out a sequential plan: nodes in order, a slot a value, the last use of each slot.
#include "treadle/runtime/PlanBuilder.h"
#include "treadle/runtime/Sequential.h"
#include "treadle/runtime/SettledPart.h"

#include <algorithm>

namespace treadle::plan {
namespace {

constexpr uint32_t noSlot = ~0u;

class Layout {
public:
  Layout(GraphSpec &graph, const PlanOptions &options) : graph(graph), options(options) {}
  Expected<std::unique_ptr<Plan>> build();

private:
  void placeArguments();
  void placeNodes(const std::vector<int32_t> &order);
  void placeConstant(int32_t node);
  void placeAlias(int32_t node);
  void placeNode(int32_t node);
  void placeResults();
  void markPassThrough();
  void markLastUses();
  void markUse(uint32_t position);
  void recordControls();
  void giveBack();
  bool isAlias(const NodeSpec &node) const;
  bool isPinned(uint32_t slot) const;

  GraphSpec &graph;
  const PlanOptions &options;
  std::unique_ptr<Plan> plan = std::make_unique<Plan>();
  std::vector<NodeKind> kinds;
  std::vector<uint32_t> slotOf;  // by node: slot or constant of output 0
  std::vector<int32_t> planNode; // by spec node: index in the plan, or -1
};

// An op that hands its input on unchanged needs no node at all. In a graph with dead branches its
// control inputs may make it dead, so there it stays.
bool Layout::isAlias(const NodeSpec &node) const {
  bool hands = node.op == "Identity" || node.op == "StopGradient" || node.op == "PreventGradient";
  return hands && node.inputs.size() == 1 && !node.inputTypes[0].isRef &&
         !node.outputTypes.empty() && node.inputTypes[0].dtype == node.outputTypes[0].dtype &&
         !plan->hasDeadness;
}

void Layout::placeArguments() {
  for (Endpoint arg : graph.args) {
    slotOf[arg.node] = plan->numSlots++;
    ValueType type = graph.nodes[arg.node].outputTypes[0];
    plan->argTypes.push_back(type);
  }
}

void Layout::placeConstant(int32_t i) {
  const auto *value = std::get_if<Tensor>(graph.nodes[i].attrs.find("value"));
  slotOf[i] = static_cast<uint32_t>(plan->constants.size()) | InputIndex::constantBit;
  plan->constants.push_back(*value);
}

void Layout::placeNode(int32_t i) {
  NodeSpec &spec = graph.nodes[i];
  PlanNode node;
  NodeInfo info;
  node.kind = kinds[i];
  node.inputBegin = static_cast<uint32_t>(plan->inputIndices.size());
  node.inputCount = static_cast<uint32_t>(spec.inputs.size());
  node.outputCount = static_cast<uint32_t>(spec.outputTypes.size());
  node.outputBegin = plan->numSlots;
  for (Endpoint e : spec.inputs) {
    uint32_t base = slotOf[e.node];
    plan->inputIndices.push_back(base & InputIndex::constantBit ? base : base + e.output);
  }
  slotOf[i] = plan->numSlots;
  plan->numSlots += node.outputCount;
  bindSequential(spec, options, node, info);
  plan->mayBlock |= mayBlock(spec, node, options);
  node.info = static_cast<uint32_t>(plan->infos.size());
  info.programOrder = static_cast<uint32_t>(i);
  info.name = std::move(spec.name);
  info.op = std::move(spec.op);
  plan->infos.push_back(std::move(info));
  planNode[i] = static_cast<int32_t>(plan->nodes.size());
  plan->nodes.push_back(node);
}

void Layout::placeNodes(const std::vector<int32_t> &order) {
  for (int32_t i : order) {
    NodeSpec &spec = graph.nodes[i];
    const AttrValue *value = spec.attrs.find("value");
    if (kinds[i] == NodeKind::Arg)
      continue;
    bool isConstant = kinds[i] == NodeKind::Constant || (spec.op == "Const" && !plan->hasDeadness);
    if (isConstant && value && std::holds_alternative<Tensor>(*value) &&
        std::get<Tensor>(*value).dtype() == spec.outputTypes[0].dtype)
      placeConstant(i);
    else if (kinds[i] == NodeKind::NoOp && !plan->hasDeadness)
      continue;
    else if (isAlias(spec))
      slotOf[i] = slotOf[spec.inputs[0].node] & InputIndex::constantBit
                      ? slotOf[spec.inputs[0].node]
                      : slotOf[spec.inputs[0].node] + spec.inputs[0].output;
    else
      placeNode(i);
  }
}

void Layout::placeResults() {
  for (ResultSpec &result : graph.results) {
    uint32_t base = slotOf[result.from.node];
    plan->resultIndices.push_back(base & InputIndex::constantBit ? base
                                                                 : base + result.from.output);
    plan->resultTypes.push_back(graph.nodes[result.from.node].outputTypes[result.from.output]);
  }
  plan->results = std::move(graph.results);
}

void Layout::markPassThrough() {
  if (options.argMode != ArgMode::LoopBody)
    return;
  size_t numArgs = plan->argTypes.size();
  plan->isPassThrough.assign(numArgs, 0);
  for (size_t i = 0; i < numArgs && i < plan->resultIndices.size(); ++i)
    plan->isPassThrough[i] = plan->resultIndices[i] == i;
  for (size_t i = 0; i < plan->resultIndices.size(); ++i)
    plan->resultsNeedTemporaries |= plan->resultIndices[i] < numArgs && plan->resultIndices[i] != i;
}

// Slots that nobody in this plan may take or clear.
bool Layout::isPinned(uint32_t slot) const {
  if (slot >= plan->argTypes.size())
    return false;
  return options.argMode == ArgMode::Borrowed ||
         (options.argMode == ArgMode::LoopBody && plan->isPassThrough[slot]);
}

// Goes backwards: the first mention of a slot that is met is its last use.
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
  std::vector<int32_t> uses(plan->numSlots); // of a slot by the node at hand
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
      // A value that the node reads twice may not be taken by it, only cleared after it.
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

void Layout::recordControls() {
  if (!plan->hasDeadness)
    return;
  std::vector<std::vector<uint32_t>> controls(plan->nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (planNode[i] >= 0)
      for (int32_t c : graph.nodes[i].controls)
        if (planNode[c] >= 0)
          controls[planNode[i]].push_back(static_cast<uint32_t>(planNode[c]));
  for (const auto &list : controls) {
    plan->controlBegin.push_back(static_cast<uint32_t>(plan->controlInputs.size()));
    plan->controlInputs.insert(plan->controlInputs.end(), list.begin(), list.end());
  }
  plan->controlBegin.push_back(static_cast<uint32_t>(plan->controlInputs.size()));
}

// What was moved out of the graph, for the layout that is built instead.
void Layout::giveBack() {
  for (NodeInfo &info : plan->infos) {
    NodeSpec &spec = graph.nodes[info.programOrder];
    spec.name = std::move(info.name);
    spec.op = std::move(info.op);
  }
  graph.results = std::move(plan->results);
}

Expected<std::unique_ptr<Plan>> Layout::build() {
  std::vector<int32_t> order = TREADLE_TRY(executionOrder(graph, softEdges(graph)));
  plan->name = graph.name;
  for (const NodeSpec &node : graph.nodes) {
    kinds.push_back(classify(node));
    plan->hasDeadness |= kinds.back() == NodeKind::Switch || kinds.back() == NodeKind::Merge;
  }
  slotOf.assign(graph.nodes.size(), noSlot);
  planNode.assign(graph.nodes.size(), -1);
  plan->nodes.reserve(graph.nodes.size());
  plan->infos.reserve(graph.nodes.size());
  placeArguments();
  placeNodes(order);
  recordControls();
  placeResults();
  if (plan->mayBlock) {
    giveBack();
    return std::move(plan);
  }
  markPassThrough();
  markLastUses();
  plan->settled = SettledPart::find(graph, *plan, options);
  return std::move(plan);
}

} // namespace

Expected<std::unique_ptr<Plan>> buildSequential(GraphSpec &graph, const PlanOptions &options) {
  return Layout(graph, options).build();
}

} // namespace treadle::plan
