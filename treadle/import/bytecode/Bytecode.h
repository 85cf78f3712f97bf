// Portable artifacts of StableHLO: programs of VHLO in MLIR's bytecode.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace treadle {

/// Whether the bytes begin as MLIR's bytecode does.
bool isBytecode(std::string_view bytes);

/// Reads an artifact of any version of VHLO from 0.9.0 on into what the text of the same program is
/// read as: functions of `func` with ops of `stablehlo`, enumerations as strings, groups of numbers
/// as dictionaries. The context has these dialects loaded and allows unregistered ones.
///
/// The bytes may be anybody's: sizes, counts and indices are checked where they are read, and no
/// more memory is taken than a multiple of their number. (MLIR's own reader trusts counts.)
/// InvalidArgument says at which byte they are damaged; Unimplemented names an op, an attribute or
/// a type that isn't known, and the version that has it.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> readBytecode(mlir::MLIRContext &context,
                                                         std::string_view bytes);

} // namespace treadle
