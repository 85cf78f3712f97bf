// Writes graphs to files.
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace treadle {

/// Writes the module in the format of the path's extension: .pb, .pbtxt, .cpb (chunks, for any
/// size), .mlir. An existing file is replaced atomically. A SavedModel is written as a folder if
/// the path has no extension or is `folder/saved_model.pb`, `.pbtxt` or `.cpb`; as .pb or .pbtxt,
/// only the GraphDef of its meta graph is written. InvalidArgument for another extension, otherwise
/// the errors of the format's exporter. A SavedModel of more than 2 GiB is written in chunks
/// automatically.
Expected<void> exportFile(mlir::ModuleOp module, const std::string &path);

/// Prints the module as MLIR text. Locations are printed for tf_executor, where they are the names
/// of nodes.
std::string printMlir(mlir::ModuleOp module);

} // namespace treadle
