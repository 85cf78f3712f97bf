// The permissions that a graph requires, as lines of text.
#pragma once

#include "treadle/Summary.h"

namespace treadle::cli {

/// Returns one line for each file, and for each op without a file name: `reading 'x' (ReadFile);
/// --allow-read x allows it`.
std::vector<std::string> permissionLines(const std::vector<GraphSummary::Want> &wants);

} // namespace treadle::cli
