// What ops ask for beside their values.
#pragma once

#include "treadle/rewriting/Rewriting.h"
#include "treadle/treadle.h"

#include <optional>

namespace treadle {

/// What a node of a function (none: the graph) asks for, if it asks for anything.
std::optional<GraphSummary::Want> wantOf(tfg::Node node, const std::string &where);

} // namespace treadle
