// Internal to the session folder: contexts in which several threads make attributes.
#pragma once

#include "mlir/IR/MLIRContext.h"

namespace treadle {

/// Lets several threads work with the modules of a context: each on what is its own, and all read
/// what nobody changes. Making a context locked from the start would slow down reading files; to be
/// called once, before others know the context. It starts no threads.
void share(mlir::MLIRContext &context);

} // namespace treadle
