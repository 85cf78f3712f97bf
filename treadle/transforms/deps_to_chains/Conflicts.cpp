#include "treadle/transforms/deps_to_chains/Conflicts.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace treadle::tfg {

bool ResourceGroup::contains(Effect effect) const {
  auto meets = static_cast<unsigned>(effect.part) & static_cast<unsigned>(part);
  bool isOwn = llvm::binary_search(ids, effect.resource);
  // A handle that may refer to several resources accesses all parts.
  return isOwn && (meets || ids.size() > 1);
}

namespace {

class Grouping {
public:
  Grouping(const LoopAccesses &accesses, const EffectAnalysis &effects) : effects(effects) {
    for (const auto *list : {&accesses.condition, &accesses.body})
      for (const LoopAccess &access : *list)
        for (Effect effect : access.effects)
          ids.insert(effect.resource);
  }

  /// Handles of unknown origin may refer to any resource: they belong to every group without
  /// merging groups.
  SmallVector<ResourceGroup> run() {
    SmallVector<ResourceId> broad, others;
    for (ResourceId id : ids)
      (effects.resource(id).kind == Resource::Unknown ? broad : others).push_back(id);
    auto isWorld = [](ResourceId id) { return id == EffectAnalysis::world; };
    for (ArrayRef<ResourceId> own : classes(others))
      add(own, isWorld(own.front()) ? ArrayRef<ResourceId>() : broad);
    if (!broad.empty() && llvm::all_of(others, isWorld))
      add(broad, {});
    return std::move(groups);
  }

private:
  std::vector<SmallVector<ResourceId, 2>> classes(ArrayRef<ResourceId> others) const {
    llvm::EquivalenceClasses<ResourceId> joined;
    for (ResourceId id : others)
      joined.insert(id);
    for (ResourceId id : others)
      if (effects.resource(id).kind == Resource::Argument)
        for (ResourceId other : others)
          if (effects.mayAlias(id, other))
            joined.unionSets(id, other);
    llvm::MapVector<ResourceId, SmallVector<ResourceId, 2>> members;
    for (ResourceId id : others)
      members[joined.getLeaderValue(id)].push_back(id);
    std::vector<SmallVector<ResourceId, 2>> out;
    for (auto &entry : members)
      out.push_back(std::move(entry.second));
    return out;
  }

  void add(ArrayRef<ResourceId> own, ArrayRef<ResourceId> broad) {
    ResourceGroup group;
    group.ids.append(own.begin(), own.end());
    group.ids.append(broad.begin(), broad.end());
    llvm::sort(group.ids);
    group.isTotal = own.size() == 1 || areAllAliases(own);
    if (own.size() > 1 || !effects.resource(own.front()).isFifo) {
      groups.push_back(group);
      return;
    }
    for (ResourceEnd part : {ResourceEnd::In, ResourceEnd::Out}) {
      group.part = part;
      groups.push_back(group);
    }
  }

  bool areAllAliases(ArrayRef<ResourceId> own) const {
    constexpr size_t fewEnough = 8;
    return own.size() <= fewEnough && llvm::all_of(own, [&](ResourceId a) {
             return llvm::all_of(own, [&](ResourceId b) { return effects.mayAlias(a, b); });
           });
  }

  const EffectAnalysis &effects;
  llvm::SetVector<ResourceId> ids;
  SmallVector<ResourceGroup> groups;
};

enum class AccessKind { None, Reads, Writes };

AccessKind kindOf(const LoopAccess &access, const ResourceGroup &group) {
  AccessKind kind = AccessKind::None;
  for (Effect effect : access.effects)
    if (group.contains(effect))
      kind = std::max(kind, effect.writes ? AccessKind::Writes : AccessKind::Reads);
  return kind;
}

} // namespace

SmallVector<ResourceGroup> groupResources(const LoopAccesses &accesses,
                                          const EffectAnalysis &effects) {
  return Grouping(accesses, effects).run();
}

GroupOrder::GroupOrder(const ResourceGroup &group, const LoopAccesses &accesses) : group(group) {
  for (const LoopAccess &access : accesses.condition)
    if (AccessKind kind = kindOf(access, group); kind != AccessKind::None) {
      condition.push_back(access.node);
      if (kind == AccessKind::Writes)
        conditionWriters.push_back(access.node);
    }
  conditionWrites = !conditionWriters.empty();
  scanBody(accesses);
}

void GroupOrder::scanBody(const LoopAccesses &accesses) {
  for (const LoopAccess &access : accesses.body) {
    AccessKind kind = kindOf(access, group);
    if (kind == AccessKind::None)
      continue;
    body.push_back(access.node);
    if (kind == AccessKind::Reads) {
      if (!bodyWrites || !group.isTotal)
        firstReads.push_back(access.node);
      lastReads.push_back(access.node);
      continue;
    }
    // If not all pairs of accesses conflict, no access can represent the others.
    if (!bodyWrites || !group.isTotal)
      firstWrites.push_back(access.node);
    if (group.isTotal) {
      lastReads.clear();
      lastWrites.clear();
    }
    lastWrites.push_back(access.node);
    bodyWrites = true;
  }
}

LoopChain GroupOrder::whole() const {
  LoopChain chain;
  chain.inCondition = bodyWrites ? condition : conditionWriters;
  // The last reads wait for the last write, if all accesses conflict.
  if (lastReads.empty() || !group.isTotal)
    chain.last = lastWrites;
  llvm::append_range(chain.last, lastReads);
  if (!bodyWrites) // the condition's writes wait for these reads, which wait for the condition's
                   // result
    return chain;
  chain.inBody = firstReads;
  // If there are first reads, they wait for the chain, and the first write waits for them.
  if (firstReads.empty() || !group.isTotal)
    llvm::append_range(chain.inBody, firstWrites);
  return chain;
}

LoopChain GroupOrder::ofWrites() const {
  LoopChain chain = whole();
  chain.last = lastWrites;
  return chain;
}

LoopChain GroupOrder::ofReads() const {
  LoopChain chain;
  chain.inBody = firstWrites;
  chain.inCondition = conditionWriters;
  chain.last = lastReads;
  return chain;
}

} // namespace treadle::tfg
