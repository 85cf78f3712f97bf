// Raising of one v1 loop to a loop with regions.
#pragma once

#include "treadle/transforms/v1_to_functional/LoopParts.h"

namespace treadle::tfg {

/// The names of the functions that the regions will become, and the analysis of side effects for
/// them.
struct LoopFunctions {
  std::string condition, body;
  Effects &effects;
};

/// Creates a WhileRegion before the frame, in which the nodes that carry values remain. Without
/// `functions`, each node runs as often as in the frame. With them, nodes that the next iteration
/// doesn't need run only if they have side effects, and nodes that condition and body share are
/// copied to both.
Node raiseLoop(Loop &loop, const LoopParts &parts, llvm::StringRef name,
               const LoopFunctions *functions = nullptr);

} // namespace treadle::tfg
