// The world of this process.
#pragma once

#include "treadle/collective/Communicator.h"

#include <memory>

namespace treadle {

/// Whether mpirun has started this process as one of several.
bool isStartedByMpi();

/// Returns the communicator of the world that mpirun created, joined at the first call; without
/// mpirun, that of a world with one rank. Returns NotFound if libtreadle_mpi.so can't be loaded
/// from the program's folder or its `lib` folder, Unavailable if MPI fails, and DeadlineExceeded if
/// the other processes don't join within `timeout` seconds. Thread-safe.
Expected<std::shared_ptr<Communicator>> joinWorld(double timeout = Communicator::defaultTimeout);

/// Must be called before the process ends: sends pending messages and leaves the world. After a
/// failed run it doesn't wait for the other ranks, which mpirun terminates.
void leaveWorld(bool hasFailed);

} // namespace treadle
