// Programs of StableHLO as text.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// The program, as importProgram hands it over, in the generic form of StableHLO's text, which
/// StableHLO's own tools read as well. Changes the program. Unimplemented for meshes in groups of
/// replicas.
Expected<std::string> stableHloText(mlir::ModuleOp program);

} // namespace treadle
