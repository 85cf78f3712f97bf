// What a loop computes anew in each iteration, though it is always the same.
#pragma once

#include "treadle/rewriting/FunctionalNode.h"

namespace treadle::tfg {

/// Out of the loops of Enter, Merge and Exit in a body.
void hoistFromFrames(mlir::Block &body, Effects &effects);

/// Out of the condition and the body of a While whose functions nobody else calls. What is hoisted
/// comes in as another loop variable. Gives whether the node was replaced.
bool hoistFromWhile(const FunctionalNode &loop, Effects &effects, NameScope &names);

} // namespace treadle::tfg
