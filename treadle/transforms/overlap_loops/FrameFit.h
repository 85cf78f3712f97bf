// Whether a loop's condition and body can stand in a frame of the body around it.
#pragma once

#include "treadle/rewriting/FunctionalNode.h"

namespace treadle::tfg {

/// Why they can't; empty if they can.
std::string frameObstacle(const FunctionalNode &loop, Effects &effects,
                          const FunctionMap &functions);

} // namespace treadle::tfg
