// Random numbers: streams of a session, of a variable and of a seed, and what is drawn from them.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <span>

namespace treadle {

/// Ops that draw classes for sampled losses, with how often each was to be expected; and which of
/// them are true classes by accident.
std::span<const KernelEntry> candidateSamplingKernels();
/// Classes drawn by their unnormalised log probabilities.
std::span<const KernelEntry> multinomialKernels();
/// Ops that draw from a stream of random numbers that goes on from run to run: RandomUniform and
/// its kin.
std::span<const KernelEntry> randomKernels();
/// Samples from gamma, Poisson and binomial distributions whose parameters are tensors.
std::span<const KernelEntry> randomSampleKernels();
/// Random numbers whose state is a variable that the graph holds (tf.random.Generator): each op
/// takes its numbers from the state and moves it on.
std::span<const KernelEntry> randomStatefulKernels();
/// Random numbers as a pure function of a seed: the Stateless ops, which take the seed itself, and
/// their V2 forms, which take the key and the counter that StatelessRandomGetKeyCounter makes of
/// it.
std::span<const KernelEntry> randomStatelessKernels();
/// Normal numbers between bounds, with the mean, the deviation and the bounds as tensors.
std::span<const KernelEntry> randomTruncatedKernels();
/// SobolSample: points that fill a cube evenly.
std::span<const KernelEntry> sobolKernels();
/// XlaRngBitGenerator: bits of Philox 4x32 and ThreeFry 2x32, from a state that goes on.
std::span<const KernelEntry> xlaRandomKernels();

inline constexpr KernelFamily randomFamilies[] = {TREADLE_FAMILY(candidateSamplingKernels),
                                                  TREADLE_FAMILY(multinomialKernels),
                                                  TREADLE_FAMILY(randomKernels),
                                                  TREADLE_FAMILY(randomSampleKernels),
                                                  TREADLE_FAMILY(randomStatefulKernels),
                                                  TREADLE_FAMILY(randomStatelessKernels),
                                                  TREADLE_FAMILY(randomTruncatedKernels),
                                                  TREADLE_FAMILY(sobolKernels),
                                                  TREADLE_FAMILY(xlaRandomKernels)};

} // namespace treadle
