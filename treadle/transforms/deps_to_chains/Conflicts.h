// The accesses of a loop's nodes by resource, and the order that they need between consecutive
// iterations.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

namespace treadle::tfg {

/// A node of the loop with its effects, on resources as the enclosing body knows them.
struct LoopAccess {
  Node node;
  llvm::SmallVector<Effect, 2> effects;
};

/// The nodes of a loop with effects, each list in topological order.
struct LoopAccesses {
  std::vector<LoopAccess> condition, body;
};

/// The resources that share a chain.
struct ResourceGroup {
  llvm::SmallVector<ResourceId, 2> ids; // sorted
  ResourceEnd part = ResourceEnd::Whole;
  /// Whether any two accesses conflict if one of them is a write.
  bool isTotal = true;

  bool contains(Effect effect) const;
};

/// Groups the resources of a loop so that conflicting accesses are in the same group.
llvm::SmallVector<ResourceGroup> groupResources(const LoopAccesses &accesses,
                                                const EffectAnalysis &effects);

/// The accesses of one group, and the dependencies between those of consecutive iterations.
/// Conflicting nodes of one iteration are ordered already, and the condition's result waits for the
/// accesses of the condition.
class GroupOrder {
public:
  GroupOrder(const ResourceGroup &group, const LoopAccesses &accesses);

  /// Returns whether an access of the body conflicts with one of a later iteration.
  bool needsChain() const { return !body.empty() && (bodyWrites || conditionWrites); }
  /// Returns whether reads at the end of an iteration can overlap with reads at the beginning of
  /// the next one. That requires two chains.
  bool readsOverlap() const { return bodyWrites && !firstReads.empty() && !lastReads.empty(); }

  /// Returns one chain for all accesses.
  LoopChain whole() const;
  /// Return the chain from writes to all accesses, and the chain from reads to writes.
  LoopChain ofWrites() const;
  LoopChain ofReads() const;

  llvm::ArrayRef<Node> nodesOfBody() const { return body; }
  llvm::ArrayRef<Node> nodesOfCondition() const { return condition; }

private:
  void scanBody(const LoopAccesses &accesses);

  const ResourceGroup &group;
  llvm::SmallVector<Node> body, condition, conditionWriters;
  /// The reads before the body's first write and that write; the reads after the last write and
  /// that write.
  llvm::SmallVector<Node> firstReads, firstWrites, lastReads, lastWrites;
  bool bodyWrites = false, conditionWrites = false;
};

} // namespace treadle::tfg
