// `mpirun -n N treadle run`: one graph on several processes.
#pragma once

#include "treadle/tools/cli/Request.h"

namespace treadle::cli {

/// What mpirun says of this process: 0 of 1 without it.
int rankOfProcess();

/// Where mpirun started this process, joins the others, and leaves of the graph what this rank
/// runs: nodes on a task of its number (`/job:worker/task:1`) and those without one. Fetches then
/// are those that it has; rank 0 has all. Without mpirun it changes nothing.
Expected<void> distribute(Request &request);

} // namespace treadle::cli
