// Exports a tfg.func as a function of a GraphDef's library.
#pragma once

#include "treadle/export/NodeExporter.h"
#include "treadle/proto/function.pb.h"

namespace treadle::graphdef {

/// The signatures in `state` must include all functions of the module.
Expected<void> exportFunctionDef(ExportState &state, tfg::FuncOp func, pb::FunctionDef &def);

} // namespace treadle::graphdef
