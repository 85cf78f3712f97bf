// Writes StableHLO programs as portable artifacts: VHLO in MLIR bytecode.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/VersionTuple.h"

#include <string>
#include <string_view>

namespace treadle {

/// Parses a version (`1.0.0`); returns the newest for an empty text. InvalidArgument if it isn't a
/// version from 0.9.0 to the newest supported one.
Expected<llvm::VersionTuple> artifactVersion(std::string_view text);

/// Removes annotations of shardings that involve no computation.
void removeAnnotations(mlir::ModuleOp program);

/// Writes a program as importProgram returns it, before conversion: `func` functions with
/// `stablehlo` ops. Unimplemented for an op, attribute or type that the version lacks (the error
/// names it and the first version that has it), and for anything that artifacts can't represent.
Expected<std::string> exportArtifact(mlir::ModuleOp program, llvm::VersionTuple target);

/// Like `exportArtifact`, but for a file: text, an artifact of any version, or a file of
/// jax.export. InvalidArgument for graphs.
Expected<std::string> artifactOfFile(const std::string &path, llvm::VersionTuple target);
/// Returns the program of such a file as text.
Expected<std::string> stableHloOfFile(const std::string &path);

} // namespace treadle
