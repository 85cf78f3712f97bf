// A tfg.func becomes a function of a GraphDef's library.
#pragma once

#include "treadle/export/NodeExporter.h"
#include "treadle/proto/function.pb.h"

namespace treadle::graphdef {

/// All functions of the module must be known to the state's signatures.
Expected<void> exportFunctionDef(ExportState &state, tfg::FuncOp func, pb::FunctionDef &def);

} // namespace treadle::graphdef
