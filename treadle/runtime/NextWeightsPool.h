// Allocation of NextWeights for the nodes of plans.
#pragma once

#include "treadle/runtime/NextWeights.h"

#include <memory>

namespace treadle {

/// Allocates the hint of a node. Its memory is only ever reused for other hints: a run may outlive
/// the node when code is exchanged, and may then at worst write to the hint of another node.
/// Thread-safe.
std::shared_ptr<NextWeights> makeNextWeights();

} // namespace treadle
