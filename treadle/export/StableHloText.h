// Prints StableHLO programs as text.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// Prints the program, as importProgram returns it, in the generic form of StableHLO's text, which
/// StableHLO's own tools read too. Modifies the program. Unimplemented for meshes in replica
/// groups.
Expected<std::string> stableHloText(mlir::ModuleOp program);

} // namespace treadle
