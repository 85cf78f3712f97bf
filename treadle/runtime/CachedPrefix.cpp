#include "treadle/runtime/CachedPrefix.h"

#include "treadle/ops/OpTable.h"
#include "treadle/runtime/Execution.h"
#include "treadle/runtime/Run.h"
#include "treadle/tensor/MappedTensor.h"

#include <algorithm>
#include <map>

namespace treadle {

struct CachedPrefix::Layout {
  /// A variable that the cached nodes read.
  struct Read {
    uint32_t node; // index in the plan
    uint32_t handleSlot;
    bool isArgument; // otherwise the handle is a cached value
  };

  std::vector<PlanNode> handleNodes, cachedNodes, restNodes;
  std::vector<uint32_t> indices;       // of all inputs, at PlanNode::inputBegin
  std::vector<uint32_t> cachedSlots;   // slots of all cached values
  std::vector<uint32_t> exportedSlots; // slots of the cached values that other nodes use, by number
  std::vector<uint32_t> resultSlots;   // slots of the cached values that are results, ...
  std::vector<uint32_t> resultValues;  // ... and the numbers of these results
  std::vector<Read> reads;
};

struct CachedPrefix::Values {
  struct Guard {
    Ref<Variable> variable;
    uint64_t version;
  };
  std::shared_ptr<const Layout> layout;
  std::vector<Tensor> constants; // those of the plan, then the cached values
  std::vector<Guard> guards;     // by read
  const ResourceManager *resources;
  uint64_t generation; // generation of the resource manager

  bool areValid(const Tensor *slots, const RunState &run) const;
  bool lookUpVariables(const Tensor *slots);
};

// --- finding cacheable nodes -------------------------------------------------------------------

namespace {

/// Whether the op writes nothing, except for a private state.
bool onlyReads(const OpDef &op) {
  const OpFacts &facts = op.facts();
  const OpEffects &effects = facts.effects;
  return op.kind() == OpKind::Plain && !facts.blocks && !facts.runsPython && !effects.isDeferred &&
         effects.handles.kind != Access::Write &&
         (effects.reach == OpEffects::Reach::Nothing || effects.reach == OpEffects::Reach::Own);
}

bool isPure(const OpDef &op) {
  const OpEffects &effects = op.facts().effects;
  if (op.kind() == OpKind::Placeholder &&
      !op.inputs().empty()) // a placeholder that isn't fed returns its default
    return true;
  return onlyReads(op) && !op.isStateful() && effects.handles.kind == Access::None &&
         effects.reach == OpEffects::Reach::Nothing;
}

bool isObject(ValueType type) {
  return type.isRef || type.dtype == DType::Resource || type.dtype == DType::Variant;
}

} // namespace

CachedPrefix::Role CachedPrefix::roleOf(const NodeSpec &spec, const PlanNode &node,
                                        const NodeInfo &info, const OpTraitsTable *traits) {
  if (traits && traits->find(info.op, spec.attrs.getOr<std::string>("token", "")))
    return Role::MayWriteVariables;
  bool takesObjects = std::ranges::any_of(spec.inputTypes, isObject);
  bool givesObjects = std::ranges::any_of(spec.outputTypes, isObject);
  if (spec.cluster && spec.cluster->runsPython)
    return Role::MayWriteVariables;
  if (info.isCluster) // a cluster only modifies its inputs
    return takesObjects   ? Role::MayWriteVariables
           : givesObjects ? Role::WritesNoVariables
                          : Role::Pure;
  const OpDef *op = lookupOp(info.op);
  if (!op)
    return Role::MayWriteVariables;
  if (op->facts().readsVariables)
    return givesObjects ? Role::WritesNoVariables : Role::Reads;
  if (op->makes() == "variable" && spec.inputs.empty())
    return Role::Handle;
  if (node.kind != NodeKind::Kernel)
    return op->isStateful() || takesObjects ? Role::MayWriteVariables : Role::WritesNoVariables;
  if (isPure(*op))
    return takesObjects || givesObjects ? Role::WritesNoVariables : Role::Pure;
  return op->facts().checks || onlyReads(*op) ? Role::WritesNoVariables : Role::MayWriteVariables;
}

class CachedPrefix::Finder {
public:
  Finder(const SequentialPlan &plan, const std::vector<Role> &roles)
      : plan(plan), roles(roles), isCached(plan.numSlots), isHandle(plan.numSlots) {}

  /// Returns null if no nodes can be cached.
  std::shared_ptr<const Layout> run() {
    for (uint32_t a = 0; a < plan.argTypes.size(); ++a)
      isHandle[a] = plan.argTypes[a].dtype == DType::Resource && !plan.argTypes[a].isRef;
    part->indices = plan.inputIndices;
    for (const PlanNode &node : plan.nodes)
      place(node);
    if (part->cachedNodes.empty())
      return nullptr;
    exportValues();
    return std::move(part);
  }

private:
  std::span<uint32_t> inputsOf(const PlanNode &node) {
    return {part->indices.data() + node.inputBegin, node.inputCount};
  }

  void place(const PlanNode &node) {
    Role role = roles[node.info];
    if (role == Role::Handle) {
      isHandle[node.outputBegin] = 1;
      addCachedNode(node, part->handleNodes);
    } else if (role == Role::Reads) {
      placeRead(node);
    } else if (role == Role::Pure && !mayBeDead(node) &&
               std::ranges::all_of(inputsOf(node), [&](uint32_t i) { return isKnown(i); })) {
      addCachedNode(node, part->cachedNodes);
    } else {
      part->restNodes.push_back(node);
    }
  }

  /// Whether the node may be dead although its inputs are known.
  bool mayBeDead(const PlanNode &node) const {
    return plan.hasDeadness && plan.controlBegin[node.info] != plan.controlBegin[node.info + 1];
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
    part->reads.push_back({node.info, handle, handle < plan.argTypes.size()});
    addCachedNode(node, part->cachedNodes);
  }

  bool isKnown(uint32_t index) const {
    return index & InputIndex::constantBit || isCached[index & InputIndex::slotMask];
  }

  // Adds a cached node. Its inputs are neither moved nor cleared before all cached nodes have run.
  void addCachedNode(const PlanNode &node, std::vector<PlanNode> &nodes) {
    nodes.push_back(node);
    nodes.back().clearsOutputs = false;
    for (uint32_t &index : inputsOf(node))
      index &= InputIndex::constantBit | InputIndex::slotMask;
    for (uint32_t o = 0; o < node.outputCount; ++o) {
      isCached[node.outputBegin + o] = 1;
      part->cachedSlots.push_back(node.outputBegin + o);
    }
  }

  // Returns the number of a cached value that other nodes use.
  uint32_t exportSlot(uint32_t slot) {
    auto [it, isNew] = numbers.try_emplace(slot, static_cast<uint32_t>(part->exportedSlots.size()));
    if (isNew)
      part->exportedSlots.push_back(slot);
    return it->second;
  }

  void exportValues() {
    auto first = static_cast<uint32_t>(plan.constants.size());
    for (const PlanNode &node : part->restNodes)
      for (uint32_t &index : inputsOf(node))
        if (!(index & InputIndex::constantBit) && isCached[index & InputIndex::slotMask])
          index = (first + exportSlot(index & InputIndex::slotMask)) | InputIndex::constantBit;
    for (uint32_t index : plan.resultIndices)
      if (uint32_t slot = index & InputIndex::slotMask;
          !(index & InputIndex::constantBit) && isCached[slot]) {
        part->resultSlots.push_back(slot);
        part->resultValues.push_back(exportSlot(slot));
      }
  }

  const SequentialPlan &plan;
  const std::vector<Role> &roles;
  std::vector<uint8_t> isCached, isHandle; // by slot
  std::map<uint32_t, uint32_t> numbers;    // numbers of values, by slot
  std::shared_ptr<Layout> part = std::make_shared<Layout>();
};

std::shared_ptr<const CachedPrefix>
CachedPrefix::find(const GraphSpec &graph, const SequentialPlan &plan, const PlanOptions &options) {
  auto part = std::make_shared<CachedPrefix>();
  part->roles.resize(plan.infos.size());
  for (const PlanNode &node : plan.nodes)
    part->roles[node.info] =
        roleOf(graph.nodes[node.info], node, plan.infos[node.info], options.traits);
  bool mayWrite = std::ranges::find(part->roles, Role::MayWriteVariables) != part->roles.end();
  if (mayWrite || plan.hasDeadness || options.argMode != ArgMode::Owned)
    for (Role &role : part->roles)
      role = role == Role::Pure ? role : Role::WritesNoVariables;
  part->layout = Finder(plan, part->roles).run();
  return part->layout ? part : nullptr;
}

// --- cached values -----------------------------------------------------------------------------

namespace {

constexpr int maxFailures = 3;
/// Values of at most so many bytes are kept regardless of the size of their inputs.
constexpr int64_t alwaysCachedBytes = 1 << 16;
/// Values that were used in fewer runs weren't worth caching.
constexpr uint64_t minUses = 16;

} // namespace

NodeList CachedPrefix::rest(const Values &values) {
  const Layout &layout = *values.layout;
  return {layout.restNodes, layout.indices.data(), values.constants.data()};
}

void CachedPrefix::placeResults(const Values &values, Tensor *slots) {
  const Layout &layout = *values.layout;
  size_t first = values.constants.size() - layout.exportedSlots.size();
  for (size_t r = 0; r < layout.resultSlots.size(); ++r)
    slots[layout.resultSlots[r]] = values.constants[first + layout.resultValues[r]];
}

std::shared_ptr<const CachedPrefix::Values>
CachedPrefix::values(const SequentialPlan &plan, Tensor *slots, RunState &run) const {
  if (isDisabled.load(std::memory_order_relaxed))
    return nullptr;
  if (auto own = found.tryTake(); own && own->values && own->values->areValid(slots, run)) {
    ++own->uses;
    return own->values;
  }
  // Most plans that run once run only once, so nothing is cached in the first run.
  if (!hasRunBefore.load(std::memory_order_relaxed)) {
    hasRunBefore.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  std::shared_ptr<const Values> share = shareWithOwnCount(refresh(plan, slots, run));
  if (auto own = found.tryTake())
    *own = {share, 0};
  return share;
}

std::shared_ptr<const CachedPrefix::Values>
CachedPrefix::refresh(const SequentialPlan &plan, Tensor *slots, RunState &run) const {
  std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock)
    return nullptr; // another thread computes them
  if (kept && kept->areValid(slots, run))
    return kept;
  uint64_t uses = 0;
  found.forEach([&](Found &of) {
    uses += of.uses;
    of = {};
  });
  if (kept && uses < minUses)
    ++failures;
  kept = nullptr;
  if (failures < maxFailures)
    kept = compute(plan, slots, run);
  if (!kept && ++failures >= maxFailures)
    disable();
  return kept;
}

bool CachedPrefix::Values::areValid(const Tensor *slots, const RunState &run) const {
  if (!layout->handleNodes.empty() &&
      (resources != &run.resources || generation != run.resources.generation()))
    return false;
  for (size_t i = 0; i < guards.size(); ++i) {
    const Layout::Read &read = layout->reads[i];
    if (read.isArgument && variableOfHandle(slots[read.handleSlot]) != guards[i].variable.get())
      return false;
    if (guards[i].variable->version() != guards[i].version)
      return false;
  }
  return true;
}

bool CachedPrefix::Values::lookUpVariables(const Tensor *slots) {
  for (const Layout::Read &read : layout->reads) {
    Variable *variable = variableOfHandle(slots[read.handleSlot]);
    if (!variable)
      return false;
    guards.push_back({Ref<Variable>::share(variable), variable->version()});
  }
  return true;
}

/// Evaluates the cached nodes into their slots. Returns null, with the slots as they were, if a
/// node failed.
std::shared_ptr<CachedPrefix::Values> CachedPrefix::evaluate(const SequentialPlan &plan,
                                                             Tensor *slots, RunState &run) const {
  auto made = std::make_shared<Values>();
  made->layout = layout;
  made->resources = &run.resources;
  made->generation = run.resources.generation();
  std::unique_ptr<Error> error;
  auto runAll = [&](std::span<const PlanNode> nodes) {
    return plan.runNodes({nodes, layout->indices.data(), plan.constants.data()}, slots, run, error);
  };
  if (!runAll(layout->handleNodes) || !made->lookUpVariables(slots) || !runAll(layout->cachedNodes))
    return nullptr;
  made->constants = plan.constants;
  for (uint32_t slot : layout->exportedSlots)
    made->constants.push_back(slots[slot]);
  return made;
}

/// Excludes reads of variables that live in memory of the caller, whose values may change
/// unnoticed. Returns false if there are none.
bool CachedPrefix::excludeForeignReads(const Values &values) const {
  bool isLeft = false;
  for (size_t i = 0; i < values.guards.size(); ++i)
    if (Tensor value = values.guards[i].variable->read();
        value && value.get()->owner && !isMappedTensor(value)) {
      roles[layout->reads[i].node] = Role::WritesNoVariables;
      isLeft = true;
    }
  return isLeft;
}

/// If the values take much more memory than their inputs, excludes the nodes whose outputs are far
/// larger than their inputs or, failing that, those with the largest outputs. Returns false if
/// there are none.
bool CachedPrefix::excludeLargeValues(const SequentialPlan &plan, const Values &values,
                                      const Tensor *slots) const {
  int64_t known = bytesOf(plan.constants);
  for (const Values::Guard &guard : values.guards) {
    Tensor value = guard.variable->read();
    known += bytesOf({&value, 1});
  }
  const int64_t most = 2 * known + alwaysCachedBytes;
  if (bytesOf(std::span(values.constants).subspan(plan.constants.size())) <= most)
    return false;
  std::vector<uint8_t> isGiven(plan.numSlots);
  for (uint32_t slot : layout->exportedSlots)
    isGiven[slot] = 1;
  auto bytesGiven = [&](const PlanNode &node) {
    int64_t bytes = 0;
    for (uint32_t o = node.outputBegin; o < node.outputBegin + node.outputCount; ++o)
      bytes += isGiven[o] ? bytesOf({slots + o, 1}) : 0;
    return bytes;
  };
  auto bytesTaken = [&](const PlanNode &node) {
    int64_t bytes = 0;
    for (uint32_t index : std::span(layout->indices).subspan(node.inputBegin, node.inputCount))
      bytes += bytesOf({(index & InputIndex::constantBit ? plan.constants.data() : slots) +
                            (index & InputIndex::slotMask),
                        1});
    return bytes;
  };
  bool isLeft = false;
  auto leaveWhere = [&](auto isTooMuch) {
    for (const PlanNode &node : layout->cachedNodes)
      if (isTooMuch(node)) {
        roles[node.info] = Role::WritesNoVariables;
        isLeft = true;
      }
  };
  leaveWhere([&](const PlanNode &node) {
    return bytesGiven(node) > 2 * bytesTaken(node) + alwaysCachedBytes;
  });
  const auto share = most / static_cast<int64_t>(layout->exportedSlots.size());
  if (!isLeft)
    leaveWhere([&](const PlanNode &node) { return bytesGiven(node) >= share; });
  return isLeft;
}

std::shared_ptr<const CachedPrefix::Values>
CachedPrefix::compute(const SequentialPlan &plan, Tensor *slots, RunState &run) const {
  for (bool isLarge = true; isLarge && layout;) {
    std::shared_ptr<Values> made = evaluate(plan, slots, run);
    isLarge = made && (excludeForeignReads(*made) || excludeLargeValues(plan, *made, slots));
    for (uint32_t slot : layout->cachedSlots)
      slots[slot].reset();
    if (!isLarge)
      return made;
    layout = Finder(plan, roles).run();
  }
  disable();
  return nullptr;
}

} // namespace treadle
