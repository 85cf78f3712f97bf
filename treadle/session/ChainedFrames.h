// Internal to the session folder: v1 loops whose iterations are ordered by chains.
#pragma once

#include "treadle/session/Compilation.h"

namespace treadle {

/// A plan over a copy of the graph, pruned to what was asked for, in which chains order the
/// iterations of v1 loops: pruning first, since a chain makes nodes need each other that didn't.
/// Null where a name that was asked for is gone with that, or nothing changed.
Expected<std::shared_ptr<CompiledPlan>> planWithChains(const Graph &graph, const Request &request,
                                                       bool fuses,
                                                       const CompilationOptions &options);

} // namespace treadle
