// What a graph asks for, in lines for people.
#pragma once

#include "treadle/Summary.h"

namespace treadle::cli {

/// A line for each file, and for each op that names none: `reading 'x' (ReadFile): --allow-read x`.
std::vector<std::string> wantsText(const std::vector<GraphSummary::Want> &wants);

} // namespace treadle::cli
