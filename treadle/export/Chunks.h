// Writes GraphDefs and SavedModels of any size as files of chunks (.cpb).
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace treadle {

struct ChunkLimits {
  /// Nodes are grouped until a chunk has this many bytes.
  uint64_t chunk = 64 << 20;
  /// The content of a tensor with at least this many bytes is a chunk of its own.
  uint64_t tensor = 1 << 20;
};

/// Receives the next bytes of a file; returns false if they can't be written.
using ByteSink = std::function<bool(std::string_view)>;

/// Writes the module's GraphDef. Needs memory for a chunk, one node and the library. Errors as for
/// exportGraphDef, and Unavailable if the sink fails.
Expected<void> exportGraphDefChunks(mlir::ModuleOp module, const ByteSink &sink,
                                    ChunkLimits limits = {});

/// Like `exportGraphDefChunks`, but for a SavedModel. Errors as for exportSavedModel.
Expected<void> exportSavedModelChunks(mlir::ModuleOp module, const ByteSink &sink,
                                      ChunkLimits limits = {});

/// Whether the module is likely to exceed the limit of a message (2 GiB), estimated from its
/// tensors.
bool needsChunks(mlir::ModuleOp module);

} // namespace treadle
