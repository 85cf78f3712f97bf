// Values that wait for each other: queues, barriers, staging areas, accumulators, sends and
// receives, collectives, mutexes.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Ops on accumulators of gradients, dense and sparse, behind references to strings and resources.
std::span<const KernelEntry> accumulatorKernels();
/// Barriers: elements whose components come one by one, under a key, and which can be taken, oldest
/// key first, once they are complete.
std::span<const KernelEntry> barrierKernels();
/// Batch and Unbatch: TensorFlow joins what concurrent runs pass to one Batch op.
std::span<const KernelEntry> batchKernels();
/// Sends and receives over channels, among the devices of a program of StableHLO.
std::span<const KernelEntry> channelKernels();
/// TensorFlow's collective ops: what a rank gives goes to the communicator of its session, and the
/// node's result comes when the others' parts have.
std::span<const KernelEntry> collectiveKernels();
/// Staging areas whose tuples have keys: parts of a tuple may come and go one by one.
std::span<const KernelEntry> mapStagingKernels();
/// Mutexes: MutexLock gives a variant, and the mutex is free again when the last reference to that
/// variant goes.
std::span<const KernelEntry> mutexKernels();
/// The queue ops: queues are made once by name and session; elements are checked before they go in.
std::span<const KernelEntry> queueKernels();
/// Send and Recv: tensors handed over by name within a run, wherever in the graph the two ops are;
/// and between the processes of a run, where their devices are of different tasks.
std::span<const KernelEntry> rendezvousKernels();
/// Staging areas: tuples in order of coming, taken out from the front.
std::span<const KernelEntry> stagingKernels();

inline constexpr KernelFamily exchangeFamilies[] = {
    TREADLE_FAMILY(accumulatorKernels), TREADLE_FAMILY(barrierKernels),
    TREADLE_FAMILY(batchKernels),       TREADLE_FAMILY(channelKernels),
    TREADLE_FAMILY(collectiveKernels),  TREADLE_FAMILY(mapStagingKernels),
    TREADLE_FAMILY(mutexKernels),       TREADLE_FAMILY(queueKernels),
    TREADLE_FAMILY(rendezvousKernels),  TREADLE_FAMILY(stagingKernels)};

} // namespace treadle
