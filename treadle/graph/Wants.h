// Finds what ops need besides their inputs: files, the clock, Python.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/treadle.h"

#include <optional>

namespace treadle {

/// Returns what a node of function `where` (empty for the graph) needs besides its inputs, if
/// anything.
std::optional<GraphSummary::Want> wantOf(tfg::Node node, const std::string &where);

} // namespace treadle
