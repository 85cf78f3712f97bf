// Internal: the most important recommendations of an explanation.
#pragma once

#include "treadle/Explain.h"

namespace treadle {

/// Returns at most three recommendations that would make a graph faster: first those that let
/// iterations overlap, then the one that keeps most ops from being compiled. Empty if there are
/// none.
std::vector<std::string> recommendationsFor(const Explanation &explanation);

} // namespace treadle
