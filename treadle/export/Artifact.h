// Programs of StableHLO become portable artifacts: VHLO in MLIR's bytecode.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/VersionTuple.h"

#include <string>
#include <string_view>

namespace treadle {

/// The version that the text states, `1.0.0`; the newest for an empty text. InvalidArgument for
/// what is none, or none from 0.9.0 to the newest that is known.
Expected<llvm::VersionTuple> artifactVersion(std::string_view text);

/// Takes away what says how values are spread over devices, but no computation.
void removeAnnotations(mlir::ModuleOp program);

/// Writes a program as importProgram hands it over, before it is converted: functions of `func`
/// with ops of `stablehlo`. Unimplemented names an op, an attribute or a type that the version
/// hasn't, and the first that has it; and what no artifact can hold.
Expected<std::string> exportArtifact(mlir::ModuleOp program, llvm::VersionTuple target);

/// The same of a file: text, an artifact of any version, or one of jax.export. InvalidArgument for
/// graphs.
Expected<std::string> artifactOfFile(const std::string &path, llvm::VersionTuple target);
/// The program of such a file as text.
Expected<std::string> stableHloOfFile(const std::string &path);

} // namespace treadle
