// The ops of the dialects stablehlo, chlo, mhlo and check.
#pragma once

#include "treadle/dialect/stablehlo/Attributes.h"
#include "treadle/dialect/stablehlo/Syntax.h"
#include "treadle/dialect/stablehlo/Traits.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "treadle/dialect/CheckOpsDialect.h.inc"
#include "treadle/dialect/ChloOpsDialect.h.inc"
#include "treadle/dialect/MhloOpsDialect.h.inc"
#include "treadle/dialect/StableHloOpsDialect.h.inc"

#define GET_OP_CLASSES
#include "treadle/dialect/CheckOps.h.inc"
#define GET_OP_CLASSES
#include "treadle/dialect/ChloOps.h.inc"
#define GET_OP_CLASSES
#include "treadle/dialect/MhloOps.h.inc"
#define GET_OP_CLASSES
#include "treadle/dialect/StableHloOps.h.inc"
