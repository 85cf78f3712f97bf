// What of a loop's order other edges keep already, and what nothing waits for.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

namespace treadle::tfg {

/// Of each chain drops the nodes that wait for it by way of another, and those that another of the
/// nodes it is handed on after waits for; and of what the condition's result waits for, the same.
void dropRedundant(LoopOrder &order);

/// Drops the chains whose order loop variables keep already: those that an earlier run of the pass
/// added, or that the program has.
void dropCarried(LoopOrder &order);

/// The last nodes of the body that do something, or see what others do, and that no chain or other
/// loop variable waits for: the loop isn't over before they are. Of nodes that only read, those
/// whose value goes into a sum or list that the loop carries are waited for with it.
llvm::SmallVector<Node> lastUnchained(const LoopOrder &order, const EffectAnalysis &effects);

} // namespace treadle::tfg
