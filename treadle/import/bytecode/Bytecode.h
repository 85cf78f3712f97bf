// Reads portable artifacts of StableHLO: VHLO programs in MLIR bytecode.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string_view>

namespace treadle {

/// Whether the bytes begin like MLIR bytecode.
bool isBytecode(std::string_view bytes);

/// Reads an artifact of any VHLO version from 0.9.0 on into the same form as the text of the
/// program: `func` functions with `stablehlo` ops, enumerations as strings, groups of numbers as
/// dictionaries. The context must have these dialects loaded and allow unregistered ones.
///
/// The bytes are untrusted: sizes, counts and indices are checked when they are read, and memory
/// use is bounded by a multiple of the size. (MLIR's own reader trusts counts.) InvalidArgument
/// has the position of the corrupted byte; Unimplemented names an unknown op, attribute or type,
/// and the version that introduced it.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> readBytecode(mlir::MLIRContext &context,
                                                         std::string_view bytes);

} // namespace treadle
