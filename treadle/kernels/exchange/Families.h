// Values that wait for each other: queues, barriers, staging areas, accumulators, sends and
// receives, collectives, mutexes.
#include "treadle/runtime/Kernel.h"

/// Ops on accumulators of gradients, dense and sparse, behind references to strings and resources.
TREADLE_FAMILY(accumulatorKernels)
/// Barriers: elements whose components come one by one, under a key, and which can be taken, oldest
/// key first, once they are complete.
TREADLE_FAMILY(barrierKernels)
/// Batch and Unbatch: TensorFlow joins what concurrent runs pass to one Batch op.
TREADLE_FAMILY(batchKernels)
/// Sends and receives over channels, among the devices of a program of StableHLO.
TREADLE_FAMILY(channelKernels)
/// TensorFlow's collective ops: what a rank gives goes to the communicator of its session, and the
/// node's result comes when the others' parts have.
TREADLE_FAMILY(collectiveKernels)
/// Staging areas whose tuples have keys: parts of a tuple may come and go one by one.
TREADLE_FAMILY(mapStagingKernels)
/// Mutexes: MutexLock gives a variant, and the mutex is free again when the last reference to that
/// variant goes.
TREADLE_FAMILY(mutexKernels)
/// The queue ops: queues are made once by name and session; elements are checked before they go in.
TREADLE_FAMILY(queueKernels)
/// Send and Recv: tensors handed over by name within a run, wherever in the graph the two ops are;
/// and between the processes of a run, where their devices are of different tasks.
TREADLE_FAMILY(rendezvousKernels)
/// Staging areas: tuples in order of coming, taken out from the front.
TREADLE_FAMILY(stagingKernels)
