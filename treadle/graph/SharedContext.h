// Internal to the library: contexts that several threads use.
#pragma once

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace treadle {

/// Returns a context for importing a graph, with all dialects of graphs and of the passes over them
/// loaded. It doesn't lock yet, because locking would slow down the import.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Enables locking, so that several threads can work with the modules of a context from
/// makeContext: each modifies only its own modules, and all may read unmodified ones. Must be
/// called once, before the context is shared. No dialect may be loaded afterwards. Starts no
/// threads.
void share(mlir::MLIRContext &context);

} // namespace treadle
