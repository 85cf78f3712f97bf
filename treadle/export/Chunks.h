// GraphDefs and SavedModels of any size, as files of chunks (.cpb).
#pragma once

#include "treadle/tensor/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <functional>
#include <string_view>

namespace treadle {

struct ChunkLimits {
  /// Nodes are put together until a chunk has this many bytes.
  uint64_t chunk = 64 << 20;
  /// The content of a tensor of at least this many bytes is a chunk of its own.
  uint64_t tensor = 1 << 20;
};

/// Takes the next bytes of a file; false if they can't be written.
using ByteSink = std::function<bool(std::string_view)>;

/// Writes the module's GraphDef. Needs memory for a chunk, one node and the library. Errors as
/// those of exportGraphDef, and Unavailable where the sink fails.
Expected<void> exportGraphDefChunks(mlir::ModuleOp module, const ByteSink &sink,
                                    ChunkLimits limits = {});

/// The same for a SavedModel. Errors as those of exportSavedModel.
Expected<void> exportSavedModelChunks(mlir::ModuleOp module, const ByteSink &sink,
                                      ChunkLimits limits = {});

/// About how many bytes the tensors in the module take: more than a message may have (2 GiB)?
bool needsChunks(mlir::ModuleOp module);

} // namespace treadle
