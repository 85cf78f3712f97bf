// Where the nodes of plans have their NextWeights.
#pragma once

#include "treadle/runtime/NextWeights.h"

#include <memory>

namespace treadle {

/// For a node. Its memory never becomes anything else, so that a run that outlives the node, as it
/// may where code is exchanged, writes at worst to another node's. Thread-safe.
std::shared_ptr<NextWeights> makeNextWeights();

} // namespace treadle
