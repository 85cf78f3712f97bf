// The world that this process is part of.
#pragma once

#include "treadle/collective/Communicator.h"

#include <memory>

namespace treadle {

/// Whether mpirun has started this process as one of several.
bool isStartedByMpi();

/// The communicator of the world that mpirun made, joined at the first call; the one rank of a
/// world of its own where there was no mpirun. NotFound where libtreadle_mpi.so, beside this
/// program or in its `lib` folder, can't be loaded; Unavailable where MPI fails; DeadlineExceeded
/// where the other processes don't come within `timeout` seconds. Thread-safe.
Expected<std::shared_ptr<Communicator>> joinWorld(double timeout = Communicator::defaultTimeout);

/// To be called before the process ends: sends what is left, and leaves the world in order. Once a
/// run has failed the others are left to themselves: mpirun ends them.
void leaveWorld(bool hasFailed);

} // namespace treadle
