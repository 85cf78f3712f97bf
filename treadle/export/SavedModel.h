// Exports modules of SavedModels as messages and folders.
#pragma once

#include "treadle/proto/saved_model.pb.h"
#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// Exports a module that importSavedModel created; the message is equal to the original if nothing
/// changed. InvalidArgument for other modules, otherwise as exportGraphDef.
Expected<pb::SavedModel> exportSavedModel(mlir::ModuleOp module);

/// Like `exportSavedModel`, but with empty graphs.
Expected<pb::SavedModel> exportSavedModelHeader(mlir::ModuleOp module);

/// Exports one meta graph of `metaGraphs(module)` without its graph: signatures, collections,
/// object graph.
Expected<pb::MetaGraphDef> exportMetaGraphHeader(mlir::ModuleOp metaGraph);

/// saved_model.pb, saved_model.pbtxt, saved_model.cpb (chunks, for any size).
enum class SavedModelForm { Binary, Text, Chunks };

/// Writes the SavedModel's folder: the message in that form, and copies of all other files of the
/// original folder (variables, assets, fingerprint). The folder is created atomically.
/// AlreadyExists if the path exists and isn't an empty folder, NotFound if the original folder
/// doesn't exist any more.
Expected<void> exportSavedModelFolder(mlir::ModuleOp module, const std::string &folder,
                                      SavedModelForm form);

} // namespace treadle
