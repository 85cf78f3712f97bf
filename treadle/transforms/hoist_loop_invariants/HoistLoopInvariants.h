// Hoisting of loop-invariant nodes.
#pragma once

#include "treadle/rewriting/FunctionalNode.h"

namespace treadle::tfg {

/// Hoists nodes out of the frames of a body.
void hoistFromFrames(mlir::Block &body, Effects &effects);

/// Hoists nodes out of the condition and body of a While whose functions have no other callers.
/// Hoisted values become loop variables. Returns whether the node was replaced.
bool hoistFromWhile(const FunctionalNode &loop, Effects &effects, NameScope &names);

} // namespace treadle::tfg
