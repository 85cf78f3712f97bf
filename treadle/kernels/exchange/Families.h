// Kernels of ops that wait for each other: queues, barriers, staging areas, accumulators, sends and
// receives, collectives, mutexes.
#include "treadle/runtime/Kernel.h"

/// Ops on dense and sparse gradient accumulators, by string references and by resource handles.
TREADLE_FAMILY(accumulatorKernels)
/// Barriers: elements whose components are inserted separately, by key, and which are taken in FIFO
/// order of keys once they are complete.
TREADLE_FAMILY(barrierKernels)
/// Batch and Unbatch: TensorFlow combines the inputs of concurrent runs into one batch.
TREADLE_FAMILY(batchKernels)
/// Sends and receives over channels between the devices of a StableHLO program.
TREADLE_FAMILY(channelKernels)
/// Collective ops of TensorFlow and StableHLO, which use the session's communicator and complete
/// asynchronously.
TREADLE_FAMILY(collectiveKernels)
/// Staging areas with keys; parts of a tuple may be put and taken separately.
TREADLE_FAMILY(mapStagingKernels)
/// Mutexes: MutexLock returns a variant; the mutex is unlocked when the last reference to the
/// variant goes.
TREADLE_FAMILY(mutexKernels)
/// Queue ops: queues are created once per name and session; elements are checked when they are
/// enqueued.
TREADLE_FAMILY(queueKernels)
/// Send and Recv: tensors passed by name within a run; between processes if their devices are of
/// different tasks.
TREADLE_FAMILY(rendezvousKernels)
/// Staging areas: FIFO buffers of tuples.
TREADLE_FAMILY(stagingKernels)
