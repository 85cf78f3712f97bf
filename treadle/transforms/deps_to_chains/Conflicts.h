// Accesses of a loop's nodes, by resource: which of them must come before which of the next
// iteration's.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

namespace treadle::tfg {

/// A node of the loop and what it does, in terms of the body that the loop stands in.
struct LoopAccess {
  Node node;
  llvm::SmallVector<Effect, 2> effects;
};

/// The nodes with effects of a loop, each list in an order that its edges keep.
struct LoopAccesses {
  std::vector<LoopAccess> condition, body;
};

/// Resources that one chain is for.
struct ResourceGroup {
  llvm::SmallVector<ResourceId, 2> ids; // sorted
  Part part = Part::Whole;
  /// Whether any two accesses conflict if one of them writes.
  bool isTotal = true;

  bool contains(Effect effect) const;
};

/// The resources of a loop in groups: what conflicts is in one.
llvm::SmallVector<ResourceGroup> groupResources(const LoopAccesses &accesses,
                                                const EffectAnalysis &effects);

/// The accesses of one group, and who has to wait for whom of the iteration before. Nodes of one
/// iteration that conflict have an order already, and the condition's result waits for its
/// accesses.
class GroupOrder {
public:
  GroupOrder(const ResourceGroup &group, const LoopAccesses &accesses);

  /// Whether an access of the body conflicts with one of a later iteration.
  bool needsChain() const { return !body.empty() && (bodyWrites || conditionWrites); }
  /// Reads at the end of an iteration may still be under way when reads of the next begin; that
  /// takes two chains.
  bool readsOverlap() const { return bodyWrites && !firstReads.empty() && !lastReads.empty(); }

  /// One chain for all accesses.
  LoopChain whole() const;
  /// What waits for writes, and what writes wait for beside that.
  LoopChain ofWrites() const;
  LoopChain ofReads() const;

  llvm::ArrayRef<Node> nodesOfBody() const { return body; }
  llvm::ArrayRef<Node> nodesOfCondition() const { return condition; }

private:
  void scanBody(const LoopAccesses &accesses);

  const ResourceGroup &group;
  llvm::SmallVector<Node> body, condition, conditionWriters;
  /// Before the body's first write, the first write; after the last write, the last write.
  llvm::SmallVector<Node> firstReads, firstWrites, lastReads, lastWrites;
  bool bodyWrites = false, conditionWrites = false;
};

} // namespace treadle::tfg
