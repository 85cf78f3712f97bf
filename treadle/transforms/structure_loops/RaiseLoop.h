// One loop of v1 control flow made a loop with regions.
#pragma once

#include "treadle/transforms/v1_to_functional/LoopParts.h"

namespace treadle::tfg {

/// What the regions are called and ask for where they are to be functions.
struct LoopFunctions {
  std::string condition, body;
  Effects &effects;
};

/// A WhileRegion before the frame, which keeps what carries its values. Without `functions` each
/// node runs as often as in the frame; with them, nodes that the next iteration doesn't need run if
/// they have effects, and those that the condition shares with the body stand in both.
Node raiseLoop(Loop &loop, const LoopParts &parts, llvm::StringRef name,
               const LoopFunctions *functions = nullptr);

} // namespace treadle::tfg
