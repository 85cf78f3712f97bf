// Ops that read variables, as ops on the tensors that these hold.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// Builds, before a node that gathers from a variable, the node of its name that gathers from
/// `table` (see OpDef::onTensor). Nodes it needs besides have names of `names`.
Node gatherFrom(mlir::Value table, Node node, NameScope &names);

} // namespace treadle::tfg
