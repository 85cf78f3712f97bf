// A function of a GraphDef's library becomes a tfg.func.
#pragma once

#include "treadle/import/NodeImporter.h"
#include "treadle/proto/function.pb.h"

namespace treadle::graphdef {

/// Whether the function is a template: an argument's type or number, or an attribute of a node,
/// comes from attributes of the node that calls it.
bool isGeneric(const pb::FunctionDef &function);

/// Adds the function to the end of the module. All functions of the library must be known to the
/// state's signatures.
Expected<tfg::FuncOp> importFunctionDef(ImportState &state, mlir::ModuleOp module,
                                        const pb::FunctionDef &function);

} // namespace treadle::graphdef
