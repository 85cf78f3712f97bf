// The order that side effects impose on the iterations of a loop, and a plan of the chains that
// preserve it. This is the analysis of tfg-deps-to-chains, which changes nothing.
#pragma once

#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/runtime/Plan.h"
#include "treadle/transforms/order/BodyOrder.h"

namespace treadle::tfg {

/// A resource that nodes of a loop access, or several that may be the same one.
struct LoopResource {
  /// A description for diagnostics: `variable 'v'`.
  std::string text;
  /// The sorted resource ids in EffectAnalysis, as the loop's node accesses them.
  llvm::SmallVector<unsigned, 2> ids;
  /// The part of the resource, such as one end of a queue.
  ResourceEnd part = ResourceEnd::Whole;
  struct Access {
    Node node;
    bool writes, isInCondition;
  };
  llvm::SmallVector<Access> accesses; // those of the condition first
};

/// A loop variable that only orders nodes: the nodes that wait for its value run after the nodes of
/// the previous iteration that its value depends on.
struct LoopChain {
  /// The resource that it orders: `variable 'v'`. Empty if it only makes effects complete before
  /// the loop ends.
  std::string resource;
  /// The index of that resource in LoopOrder::resources.
  std::optional<unsigned> resourceNumber;
  /// The index of the loop variable that serves as the chain, if that is the resource's handle.
  std::optional<unsigned> variable;
  /// The nodes of the body and of the condition that wait for the chain, and the nodes of the body
  /// that its next value waits for.
  llvm::SmallVector<Node> inBody, inCondition, last;
};

/// The plan for one loop.
struct LoopOrder {
  FunctionalNode loop;
  /// The reason why the loop can't be changed, such as `parallel_iterations is 1`. Empty if it can
  /// be.
  std::string obstacle;
  /// Whether the obstacle is in the loop's functions, so that they weren't analyzed.
  bool isOpaque = false;

  std::vector<LoopResource> resources;
  llvm::SmallVector<LoopChain> chains;
  /// The nodes of the condition that its result must wait for, but doesn't yet.
  llvm::SmallVector<Node> beforePredicate;
  /// The NoOps that delay the body's results until all of its side effects have happened.
  llvm::SmallVector<Node> barriers;
  /// The missing edges between conflicting nodes of the body and of the condition.
  std::vector<OrderEdge> missing, missingInCondition;

  /// Returns whether the plan changes the loop.
  bool needsChange() const {
    return obstacle.empty() && !(chains.empty() && beforePredicate.empty() && barriers.empty() &&
                                 missing.empty() && missingInCondition.empty());
  }
};

/// Returns whether a loop's body returns the variable unchanged, directly or through Identity
/// nodes.
bool isPassedThrough(FuncOp body, unsigned variable);

/// Plans the While loops of a module, including those in functions.
std::vector<LoopOrder> planLoops(mlir::ModuleOp module, const EffectAnalysis &effects,
                                 LoopOverlap overlap);

LoopOrder planLoop(const FunctionalNode &loop, const EffectAnalysis &effects, LoopOverlap overlap);

} // namespace treadle::tfg
