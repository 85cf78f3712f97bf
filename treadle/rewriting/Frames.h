// Loops of v1 control flow: frames, which an Enter leads into.
#pragma once

#include "treadle/dialect/Tfg.h"

namespace treadle::tfg {

/// Whether a body has a loop of v1, other than in functions and regions.
bool hasFrames(mlir::Block &body);
/// Whether the graph or a function has one.
bool hasFrames(mlir::ModuleOp module);

/// The name of the frame that an Enter leads into; null if it has none.
mlir::StringAttr frameName(Node enter);

/// Whether what an Enter gives is there in every iteration, not only in the first.
bool isConstantEnter(Node enter);

/// How many iterations of a loop may run at a time: of an Enter's frame, or of a While.
int64_t parallelIterations(Node node);

} // namespace treadle::tfg
