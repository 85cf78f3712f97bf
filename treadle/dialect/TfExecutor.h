// The tf_executor and tf dialects in C++.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "treadle/dialect/TfType.h"

#include "treadle/dialect/TfDialect.h.inc"

#include "treadle/dialect/TfExecutorDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "treadle/dialect/TfExecutorTypes.h.inc"

namespace treadle::tf_executor {

/// Whether `value` is a control token.
inline bool isControl(mlir::Value value) { return mlir::isa<ControlType>(value.getType()); }

/// Whether no data operand follows a control token.
bool isControlAfterData(mlir::OperandRange operands);

class FetchOp;
class YieldOp;
class NextIterationSinkOp;
class NextIterationSourceOp;

} // namespace treadle::tf_executor

#define GET_OP_CLASSES
#include "treadle/dialect/TfExecutorOps.h.inc"
