// `mpirun -n N treadle run`: one graph on several processes.
#pragma once

#include "treadle/tools/cli/Request.h"

namespace treadle::cli {

/// Returns the rank of this process from mpirun's environment; 0 without mpirun.
int rankOfProcess();

/// Joins the other processes if mpirun started this one: the request's sessions can then exchange
/// values with them. In functions of a SavedModel it keeps the part that this rank runs, as
/// `distribute` does in graphs; nodes outside of functions run on all ranks, and Unimplemented if
/// one of them is placed on a task. Does nothing without mpirun.
Expected<void> join(Request &request);

/// After `join`, reduces a graph to the part that this rank runs: the nodes placed on its task
/// (`/job:worker/task:1`) and those without a task. Keeps the fetches that are in this part; rank 0
/// has all of them. Leaves a SavedModel as `join` made it.
Expected<void> distribute(Request &request);

} // namespace treadle::cli
