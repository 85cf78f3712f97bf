// `mpirun -n N treadle run`: one graph on several processes.
#pragma once

#include "treadle/tools/cli/Request.h"

namespace treadle::cli {

/// What mpirun says of this process: 0 of 1 without it.
int rankOfProcess();

/// Where mpirun started this process, joins the others: the request's sessions then reach them. Of
/// a SavedModel, leaves in functions what this rank runs, as `distribute` does in graphs; what
/// isn't in functions runs on all ranks, and Unimplemented where a task is said for it. Without
/// mpirun it changes nothing.
Expected<void> join(Request &request);

/// Once joined, leaves of a graph what this rank runs: nodes on a task of its number
/// (`/job:worker/task:1`) and those without one. Fetches then are those that it has; rank 0 has
/// all. A SavedModel stays as `join` left it.
Expected<void> distribute(Request &request);

} // namespace treadle::cli
