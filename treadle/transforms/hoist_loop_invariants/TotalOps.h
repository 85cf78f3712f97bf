// Ops that may run where the program wouldn't have run them.
#pragma once

#include "treadle/rewriting/Rewriting.h"

namespace treadle::tfg {

/// Whether the node, of a pure op, can't fail for any inputs of the types that it has.
bool cannotFail(Node node);

} // namespace treadle::tfg
