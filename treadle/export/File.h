// Graphs to files.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// Writes the module in the format that the path's extension names: .pb, .pbtxt, .cpb (chunks, for
/// any size), .mlir. A file that
/// is there already is replaced as a whole or stays as it was. A SavedModel without an extension in
/// the path becomes a folder, and so does `folder/saved_model.pb`, `.pbtxt` or `.cpb`; as .pb or
/// .pbtxt it is the GraphDef of its meta graph alone. InvalidArgument for another extension,
/// otherwise as the exporters of the formats. A SavedModel of more than 2 GiB is written in chunks
/// by itself.
Expected<void> exportFile(mlir::ModuleOp module, const std::string &path);

/// The module as MLIR text. In tf_executor locations are the names of nodes: they are printed then.
std::string printMlir(mlir::ModuleOp module);

} // namespace treadle
