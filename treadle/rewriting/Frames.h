// Frames: loops of v1 control flow, which start at Enter nodes.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/IR/Builders.h"

namespace treadle::tfg {

/// Returns whether a body has a v1 loop, not counting functions and regions.
bool hasFrames(mlir::Block &body);
/// Returns whether the graph or a function has one.
bool hasFrames(mlir::ModuleOp module);

/// Returns whether nodes of a body may be dead or run more than once, because it has v1 control
/// flow.
bool mayBeDead(mlir::Block &body);

/// Returns whether an edge leads from one iteration to the next. Both may be null or operations
/// that aren't nodes.
bool isBackEdge(mlir::Operation *from, mlir::Operation *to);
/// Returns whether a node passes its input to the next iteration.
bool feedsNextIteration(mlir::Operation *op);

/// Returns whether a node is an Enter.
bool entersFrame(mlir::Operation *op);
/// Passes `value` into the frame of `enter`, with the same attributes.
Node enterLike(mlir::OpBuilder &builder, Node enter, mlir::Value value, llvm::StringRef name);

/// Returns the name of the frame of an Enter; null if it is missing.
mlir::StringAttr frameName(Node enter);

/// Returns whether the value of an Enter is available in every iteration, not only in the first.
bool isConstantEnter(Node enter);

/// Returns the number of iterations that may run in parallel, for an Enter's frame or for a While.
int64_t parallelIterations(Node node);

} // namespace treadle::tfg
