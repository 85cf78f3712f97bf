// Loops of v1 control flow: frames, which an Enter leads into.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Builders.h"

namespace treadle::tfg {

/// Whether a body has a loop of v1, other than in functions and regions.
bool hasFrames(mlir::Block &body);
/// Whether the graph or a function has one.
bool hasFrames(mlir::ModuleOp module);

/// Whether nodes of a body may stay dead, or run more than once: where it has control flow of v1.
bool mayBeDead(mlir::Block &body);

/// Whether an edge leads from one iteration to the next. Both may be null or no nodes.
bool isBackEdge(mlir::Operation *from, mlir::Operation *to);
/// Whether a node gives to the next iteration what it is given.
bool leadsBack(mlir::Operation *op);

/// Whether a node leads into a frame: an Enter.
bool entersFrame(mlir::Operation *op);
/// Takes `value` to where `enter` takes its own.
Node enterLike(mlir::OpBuilder &builder, Node enter, mlir::Value value, llvm::StringRef name);

/// The name of the frame that an Enter leads into; null if it has none.
mlir::StringAttr frameName(Node enter);

/// Whether what an Enter gives is there in every iteration, not only in the first.
bool isConstantEnter(Node enter);

/// How many iterations of a loop may run at a time: of an Enter's frame, or of a While.
int64_t parallelIterations(Node node);

} // namespace treadle::tfg
