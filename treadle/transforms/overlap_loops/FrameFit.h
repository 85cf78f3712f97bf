// The check of whether a loop's condition and body can be inlined into a frame of the enclosing
// body.
#pragma once

#include "treadle/rewriting/FunctionalNode.h"

namespace treadle::tfg {

/// Returns why they can't be; empty if they can.
std::string frameObstacle(const FunctionalNode &loop, Effects &effects,
                          const FunctionMap &functions);

} // namespace treadle::tfg
