// Removal of planned chains and edges that other edges imply.
#pragma once

#include "treadle/transforms/deps_to_chains/LoopOrder.h"

namespace treadle::tfg {

/// Removes redundant dependencies of each chain: nodes that wait for it through another node, and
/// nodes that another node which its next value depends on waits for. Does the same for the
/// dependencies of the condition's result.
void dropRedundant(LoopOrder &order);

/// Drops the chains whose order loop variables imply already, whether an earlier run of the pass
/// added them or the program has them.
void dropCarried(LoopOrder &order);

/// Returns the last nodes of the body that have or observe side effects and that no chain or other
/// loop variable waits for: the loop must not end before them. Nodes that only read are omitted if
/// their value flows into a sum or list that the loop carries.
llvm::SmallVector<Node> lastUnchained(const LoopOrder &order, const EffectAnalysis &effects);

} // namespace treadle::tfg
