#include "treadle/runtime/SettledPart.h"

#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Run.h"
#include "treadle/tensor/TensorInFile.h"

#include <algorithm>
#include <map>

namespace treadle {

struct SettledPart::Values {
  struct Guard {
    Ref<Variable> variable;
    uint64_t version;
  };
  std::vector<Tensor> constants; // the plan's, then the part's
  std::vector<Guard> guards;     // by read
  const ResourceManager *resources;
  uint64_t generation; // of these
};

// --- what the part is --------------------------------------------------------------------------

namespace {

/// What a node is to the part.
enum class Role : uint8_t {
  Pure,     // gives the same for the same inputs
  Handle,   // gives a handle to a variable
  Reads,    // reads a variable
  Harmless, // does something, but writes no variable
  Foreign,  // may write variables
};

/// Whether it writes nothing but, at most, a state that it has to itself.
bool onlyReads(const OpDef &op) {
  const OpFacts &facts = op.facts();
  const OpEffects &effects = facts.effects;
  return op.kind() == OpKind::Plain && !facts.blocks && !facts.runsPython && !effects.isDeferred &&
         effects.handles.kind != Access::Write &&
         (effects.reach == OpEffects::Reach::Nothing || effects.reach == OpEffects::Reach::Own);
}

bool isPure(const OpDef &op) {
  const OpEffects &effects = op.facts().effects;
  return onlyReads(op) && !op.isStateful() && effects.handles.kind == Access::None &&
         effects.reach == OpEffects::Reach::Nothing;
}

bool isObject(ValueType type) {
  return type.isRef || type.dtype == DType::Resource || type.dtype == DType::Variant;
}

Role roleOf(const NodeSpec &spec, const PlanNode &node, const NodeInfo &info,
            const OpTraitsTable *traits) {
  if (traits && traits->find(info.op, spec.attrs.getOr<std::string>("token", "")))
    return Role::Foreign;
  bool takesObjects = std::ranges::any_of(spec.inputTypes, isObject);
  bool givesObjects = std::ranges::any_of(spec.outputTypes, isObject);
  if (info.op == clusterOp) // what it changes it is given
    return takesObjects ? Role::Foreign : givesObjects ? Role::Harmless : Role::Pure;
  const OpDef *op = lookupOp(info.op);
  if (!op)
    return Role::Foreign;
  if (op->facts().readsVariables)
    return givesObjects ? Role::Harmless : Role::Reads;
  if (op->makes() == "variable" && spec.inputs.empty())
    return Role::Handle;
  if (node.kind != NodeKind::Kernel)
    return op->isStateful() || takesObjects ? Role::Foreign : Role::Harmless;
  if (isPure(*op))
    return takesObjects || givesObjects ? Role::Harmless : Role::Pure;
  return op->facts().checks || onlyReads(*op) ? Role::Harmless : Role::Foreign;
}

} // namespace

class SettledPart::Finder {
public:
  Finder(const GraphSpec &graph, const Plan &plan, const OpTraitsTable *traits)
      : graph(graph), plan(plan), traits(traits), isSettled(plan.numSlots),
        isHandle(plan.numSlots) {}

  std::shared_ptr<const SettledPart> run() {
    for (uint32_t a = 0; a < plan.argTypes.size(); ++a)
      isHandle[a] = plan.argTypes[a].dtype == DType::Resource && !plan.argTypes[a].isRef;
    part->indices = plan.inputIndices;
    for (const PlanNode &node : plan.nodes)
      if (!place(node))
        return nullptr;
    if (part->settledNodes.empty())
      return nullptr;
    giveValues();
    return std::move(part);
  }

private:
  std::span<uint32_t> inputsOf(const PlanNode &node) {
    return {part->indices.data() + node.inputBegin, node.inputCount};
  }

  bool place(const PlanNode &node) {
    const NodeInfo &info = plan.infos[node.info];
    switch (roleOf(graph.nodes[info.programOrder], node, info, traits)) {
    case Role::Foreign:
      return false;
    case Role::Handle:
      isHandle[node.outputBegin] = 1;
      settle(node, part->handleNodes);
      return true;
    case Role::Reads:
      placeRead(node);
      return true;
    case Role::Pure:
      if (std::ranges::all_of(inputsOf(node), [&](uint32_t i) { return isKnown(i); })) {
        settle(node, part->settledNodes);
        return true;
      }
      [[fallthrough]];
    case Role::Harmless:
      part->restNodes.push_back(node);
      return true;
    }
    return false;
  }

  // The first input is the handle.
  void placeRead(const PlanNode &node) {
    std::span<uint32_t> inputs = inputsOf(node);
    uint32_t handle = inputs[0] & InputIndex::slotMask;
    bool isOfVariable = !(inputs[0] & InputIndex::constantBit) && isHandle[handle];
    if (!isOfVariable ||
        !std::ranges::all_of(inputs.subspan(1), [&](uint32_t i) { return isKnown(i); })) {
      part->restNodes.push_back(node);
      return;
    }
    part->reads.push_back({handle, handle < plan.argTypes.size()});
    settle(node, part->settledNodes);
  }

  bool isKnown(uint32_t index) const {
    return index & InputIndex::constantBit || isSettled[index & InputIndex::slotMask];
  }

  // Nothing is moved out of a slot, or cleared, before all nodes have run.
  void settle(const PlanNode &node, std::vector<PlanNode> &nodes) {
    nodes.push_back(node);
    nodes.back().clearsOutputs = false;
    for (uint32_t &index : inputsOf(node))
      index &= InputIndex::constantBit | InputIndex::slotMask;
    for (uint32_t o = 0; o < node.outputCount; ++o) {
      isSettled[node.outputBegin + o] = 1;
      part->ownSlots.push_back(node.outputBegin + o);
    }
  }

  // The number of a value that others use.
  uint32_t give(uint32_t slot) {
    auto [it, isNew] = numbers.try_emplace(slot, static_cast<uint32_t>(part->givenSlots.size()));
    if (isNew)
      part->givenSlots.push_back(slot);
    return it->second;
  }

  void giveValues() {
    auto first = static_cast<uint32_t>(plan.constants.size());
    for (const PlanNode &node : part->restNodes)
      for (uint32_t &index : inputsOf(node))
        if (!(index & InputIndex::constantBit) && isSettled[index & InputIndex::slotMask])
          index = (first + give(index & InputIndex::slotMask)) | InputIndex::constantBit;
    for (uint32_t index : plan.resultIndices)
      if (uint32_t slot = index & InputIndex::slotMask;
          !(index & InputIndex::constantBit) && isSettled[slot]) {
        part->resultSlots.push_back(slot);
        part->resultValues.push_back(give(slot));
      }
  }

  const GraphSpec &graph;
  const Plan &plan;
  const OpTraitsTable *traits;
  std::vector<uint8_t> isSettled, isHandle; // by slot
  std::map<uint32_t, uint32_t> numbers;     // of values, by slot
  std::shared_ptr<SettledPart> part = std::make_shared<SettledPart>();
};

std::shared_ptr<const SettledPart> SettledPart::find(const GraphSpec &graph, const Plan &plan,
                                                     const OpTraitsTable *traits) {
  return Finder(graph, plan, traits).run();
}

// --- its values --------------------------------------------------------------------------------

namespace {

constexpr int maxDisappointments = 3;
/// Values that served fewer runs were not worth computing.
constexpr uint64_t enoughUses = 16;

/// Whether it stays what it is, and is no larger than what it is made of (which it may be, too).
bool isWorthKeeping(const Plan &plan, const SettledPart::Values &values) {
  int64_t known = bytesOf(plan.constants);
  for (const auto &guard : values.guards) {
    Tensor value = guard.variable->read();
    // A caller's own memory may change without our knowing.
    if (value && value.get()->owner && !isInFile(value))
      return false;
    known += bytesOf({&value, 1});
  }
  return bytesOf(std::span(values.constants).subspan(plan.constants.size())) <= 2 * known;
}

} // namespace

NodeList SettledPart::rest(const Values &values) const {
  return {restNodes, indices.data(), values.constants.data()};
}

void SettledPart::placeResults(const Values &values, Tensor *slots) const {
  size_t first = values.constants.size() - givenSlots.size();
  for (size_t r = 0; r < resultSlots.size(); ++r)
    slots[resultSlots[r]] = values.constants[first + resultValues[r]];
}

std::shared_ptr<const SettledPart::Values> SettledPart::values(const Plan &plan, Tensor *slots,
                                                               RunState &run) const {
  if (isHopeless.load(std::memory_order_relaxed))
    return nullptr;
  if (auto own = found.tryTake(); own && own->values && hold(*own->values, slots, run)) {
    ++own->uses;
    return own->values;
  }
  // Most plans that run once run only once.
  if (!isAskedAgain.load(std::memory_order_relaxed)) {
    isAskedAgain.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  std::shared_ptr<const Values> share = ownShare(renew(plan, slots, run));
  if (auto own = found.tryTake())
    *own = {share, 0};
  return share;
}

std::shared_ptr<const SettledPart::Values> SettledPart::renew(const Plan &plan, Tensor *slots,
                                                              RunState &run) const {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock)
    return nullptr; // somebody computes them
  if (kept && hold(*kept, slots, run))
    return kept;
  uint64_t uses = 0;
  found.forEach([&](Found &of) {
    uses += of.uses;
    of = {};
  });
  if (kept && uses < enoughUses)
    ++disappointments;
  kept = nullptr;
  if (disappointments < maxDisappointments)
    kept = compute(plan, slots, run);
  if (!kept && ++disappointments >= maxDisappointments)
    giveUp();
  return kept;
}

bool SettledPart::hold(const Values &values, const Tensor *slots, const RunState &run) const {
  if (!handleNodes.empty() &&
      (values.resources != &run.resources || values.generation != run.resources.generation()))
    return false;
  for (size_t i = 0; i < reads.size(); ++i) {
    const Values::Guard &guard = values.guards[i];
    if (reads[i].isArgument && handledVariable(slots[reads[i].handleSlot]) != guard.variable.get())
      return false;
    if (guard.variable->version() != guard.version)
      return false;
  }
  return true;
}

bool SettledPart::lookUpVariables(const Tensor *slots, Values &made) const {
  for (const Read &read : reads) {
    Variable *variable = handledVariable(slots[read.handleSlot]);
    if (!variable)
      return false;
    made.guards.push_back({Ref<Variable>::share(variable), variable->version()});
  }
  return true;
}

std::shared_ptr<const SettledPart::Values> SettledPart::compute(const Plan &plan, Tensor *slots,
                                                                RunState &run) const {
  auto made = std::make_shared<Values>();
  made->resources = &run.resources;
  made->generation = run.resources.generation();
  std::unique_ptr<Error> error;
  auto runAll = [&](std::span<const PlanNode> nodes) {
    return runNodes(plan, {nodes, indices.data(), plan.constants.data()}, slots, run, error);
  };
  bool isDone = runAll(handleNodes) && lookUpVariables(slots, *made) && runAll(settledNodes);
  if (isDone) {
    made->constants = plan.constants;
    for (uint32_t slot : givenSlots)
      made->constants.push_back(slots[slot]);
  }
  for (uint32_t slot : ownSlots)
    slots[slot].reset();
  if (!isDone)
    return nullptr;
  if (!isWorthKeeping(plan, *made)) {
    giveUp();
    return nullptr;
  }
  return made;
}

} // namespace treadle
