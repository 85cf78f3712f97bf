// The sdy (Shardy) dialect: how values are sharded over devices.
#pragma once

#include "treadle/dialect/stablehlo/Attributes.h"
#include "treadle/dialect/stablehlo/Traits.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "treadle/dialect/SdyOpsDialect.h.inc"

#define GET_OP_CLASSES
#include "treadle/dialect/SdyOps.h.inc"
