// The output of `treadle show --tree` and `--loops`.
#pragma once

#include "treadle/tools/cli/Arguments.h"
#include "treadle/treadle.h"

namespace treadle::cli {

int showTree(const Arguments &args, const Graph &graph);
int showLoops(const Arguments &args, const Graph &graph);

} // namespace treadle::cli
