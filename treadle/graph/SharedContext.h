// Internal to the library: contexts in which several threads work.
#pragma once

#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace treadle {

/// A context for reading a graph, with all dialects that graphs, and the passes over them, have.
/// It doesn't lock yet, which would slow down reading.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// Lets several threads work with the modules of a context that makeContext made: each on what is
/// its own, and all read what nobody changes. To be called once, before others know the context.
/// From then on no dialect is loaded in it. It starts no threads.
void share(mlir::MLIRContext &context);

} // namespace treadle
