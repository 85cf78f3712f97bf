// What the effects of a loop ask of the order of its iterations, and how chains would keep it: the
// part of tfg-deps-to-chains that only looks.
#pragma once

#include "treadle/rewriting/FunctionalNode.h"
#include "treadle/runtime/Plan.h"
#include "treadle/transforms/order/BodyOrder.h"

namespace treadle::tfg {

/// A resource that nodes of a loop get to, or several that may be one.
struct LoopResource {
  /// For people: `variable 'v'`.
  std::string text;
  /// By EffectAnalysis, as seen from the loop's node: sorted.
  llvm::SmallVector<unsigned, 2> ids;
  /// Which end of a queue this is about.
  Part part = Part::Whole;
  struct Access {
    Node node;
    bool writes, isInCondition;
  };
  llvm::SmallVector<Access> accesses; // the condition's first
};

/// A value that goes from iteration to iteration, for the order alone. Those that wait for it run
/// after what the iteration before hands it on after.
struct LoopChain {
  /// What it is for: `variable 'v'`; empty for what must have run when the loop is over.
  std::string resource;
  /// The same, as a number of LoopOrder::resources.
  std::optional<unsigned> resourceNumber;
  /// Number of the loop variable that serves, where the resource's handle is one.
  std::optional<unsigned> variable;
  /// Nodes of the body and of the condition that wait for it, and those of the body that it is
  /// handed on after.
  llvm::SmallVector<Node> inBody, inCondition, last;
};

/// What is known of one loop.
struct LoopOrder {
  FunctionalNode loop;
  /// Why the loop has to stay as it is, empty if it hasn't: `parallel_iterations is 1`.
  std::string obstacle;
  /// Whether that lies in its functions, so that nothing else is known of it.
  bool isOpaque = false;

  std::vector<LoopResource> resources;
  llvm::SmallVector<LoopChain> chains;
  /// Nodes of the condition that its result has to wait for, and doesn't.
  llvm::SmallVector<Node> beforePredicate;
  /// NoOps that hold the body's results until all of its effects have happened.
  llvm::SmallVector<Node> barriers;
  /// What the body and the condition lack of an order of their own.
  std::vector<OrderEdge> missing, missingInCondition;

  /// Whether there is something to change.
  bool needsChange() const {
    return obstacle.empty() && !(chains.empty() && beforePredicate.empty() && barriers.empty() &&
                                 missing.empty() && missingInCondition.empty());
  }
};

/// Whether a loop's body gives the variable back as it got it, through Identity nodes or directly.
bool handsOn(FuncOp body, unsigned variable);

/// The While loops of a module, those in functions included.
std::vector<LoopOrder> planLoops(mlir::ModuleOp module, const EffectAnalysis &effects,
                                 LoopOverlap overlap);

LoopOrder planLoop(const FunctionalNode &loop, const EffectAnalysis &effects, LoopOverlap overlap);

} // namespace treadle::tfg
