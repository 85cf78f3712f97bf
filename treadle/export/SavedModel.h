// Modules of SavedModels become messages and folders again.
#pragma once

#include "treadle/proto/saved_model.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// The message of a module that importSavedModel made; equal to what was read if nothing changed.
/// InvalidArgument for other modules, otherwise as exportGraphDef.
Expected<pb::SavedModel> exportSavedModel(mlir::ModuleOp module);

/// The same without what is in the graphs, which are there but empty.
Expected<pb::SavedModel> exportSavedModelHeader(mlir::ModuleOp module);

/// One meta graph of `metaGraphs(module)` without its graph: signatures, collections, object graph.
Expected<pb::MetaGraphDef> exportMetaGraphHeader(mlir::ModuleOp metaGraph);

/// saved_model.pb, saved_model.pbtxt, saved_model.cpb (chunks, for any size).
enum class SavedModelForm { Binary, Text, Chunks };

/// Writes the SavedModel's folder: the message in that form, and copies of everything else in the
/// folder that it came from (variables, assets, fingerprint). The folder
/// appears as a whole or not at all. AlreadyExists if something is there that is no empty folder,
/// NotFound if the folder it came from is gone.
Expected<void> exportSavedModelFolder(mlir::ModuleOp module, const std::string &folder,
                                      SavedModelForm form);

} // namespace treadle
