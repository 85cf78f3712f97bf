// Rewrites ops that read variables to ops on the variables' values.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// Builds, before a node that gathers from a variable, a node that gathers from `table` and has the
/// same name (see OpDef::onTensor). Additional nodes get names from `names`.
Node gatherFrom(mlir::Value table, Node node, NameScope &names);

} // namespace treadle::tfg
