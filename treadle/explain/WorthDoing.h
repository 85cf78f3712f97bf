// Internal to explain and those who print it: what of all that it tells comes first.
#pragma once

#include "treadle/Explain.h"

namespace treadle {

/// At most three things that would make a graph faster, for people: what frees iterations that wait
/// for each other, then what keeps the most ops from being compiled. Empty where there is nothing.
std::vector<std::string> worthDoing(const Explanation &explanation);

} // namespace treadle
