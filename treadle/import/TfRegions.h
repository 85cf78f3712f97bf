// tf.IfRegion, tf.CaseRegion and tf.WhileRegion as tf.If, tf.Case and tf.While.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace treadle::graphdef {

/// Makes functions of the regions of tf operations. What a region uses from outside becomes an
/// argument; of a loop, a variable that the body hands on.
llvm::LogicalResult outlineTfRegions(mlir::ModuleOp module);

} // namespace treadle::graphdef
