// C++ declarations of the rc dialect.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "treadle/codegen/RcDialect.h.inc"

namespace treadle::rc {
/// Marks a function that `rc.spread` runs.
inline constexpr llvm::StringLiteral partAttr = "rc.part";
/// Marks a function that `rc.call` runs.
inline constexpr llvm::StringLiteral pieceAttr = "rc.piece";
/// On a reducing `linalg.generic` over memory: the initial value of each output.
inline constexpr llvm::StringLiteral startsAttr = "rc.starts";
/// On an `rc.kernel` that must not be moved or duplicated, because it works on a variable or runs
/// Python code.
inline constexpr llvm::StringLiteral staysAttr = "rc.stays";
} // namespace treadle::rc

#define GET_TYPEDEF_CLASSES
#include "treadle/codegen/RcTypes.h.inc"

#define GET_OP_CLASSES
#include "treadle/codegen/RcOps.h.inc"
