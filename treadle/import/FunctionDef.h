// Imports a function of a GraphDef's library as a tfg.func.
#pragma once

#include "treadle/import/NodeImporter.h"
#include "treadle/proto/function.pb.h"

namespace treadle::graphdef {

/// Whether the function is generic: an argument's type or number, or an attribute of a node, is
/// taken from attributes of the calling node.
bool isGeneric(const pb::FunctionDef &function);

/// Appends the function to the module. The signatures in `state` must include all functions of the
/// library.
Expected<tfg::FuncOp> importFunctionDef(ImportState &state, mlir::ModuleOp module,
                                        const pb::FunctionDef &function);

} // namespace treadle::graphdef
