// Outlines the regions of tf.IfRegion, tf.CaseRegion and tf.WhileRegion: they become tf.If, tf.Case
// and tf.While.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle::graphdef {

/// Outlines the regions of tf operations into functions. A captured value becomes an argument; for
/// a loop, a variable that the body forwards.
llvm::LogicalResult outlineTfRegions(mlir::ModuleOp module);

} // namespace treadle::graphdef
