// Random numbers: streams of a session, of a variable and of a seed, and what is drawn from them.
#include "treadle/runtime/Kernel.h"

/// Ops that draw classes for sampled losses, with how often each was to be expected; and which of
/// them are true classes by accident.
TREADLE_FAMILY(candidateSamplingKernels)
/// Classes drawn by their unnormalised log probabilities.
TREADLE_FAMILY(multinomialKernels)
/// Ops that draw from a stream of random numbers that goes on from run to run: RandomUniform and
/// its kin.
TREADLE_FAMILY(randomKernels)
/// Samples from gamma, Poisson and binomial distributions whose parameters are tensors.
TREADLE_FAMILY(randomSampleKernels)
/// Random numbers whose state is a variable that the graph holds (tf.random.Generator): each op
/// takes its numbers from the state and moves it on.
TREADLE_FAMILY(randomStatefulKernels)
/// Random numbers as a pure function of a seed: the Stateless ops, which take the seed itself, and
/// their V2 forms, which take the key and the counter that StatelessRandomGetKeyCounter makes of
/// it.
TREADLE_FAMILY(randomStatelessKernels)
/// Normal numbers between bounds, with the mean, the deviation and the bounds as tensors.
TREADLE_FAMILY(randomTruncatedKernels)
/// SobolSample: points that fill a cube evenly.
TREADLE_FAMILY(sobolKernels)
/// XlaRngBitGenerator: bits of Philox 4x32 and ThreeFry 2x32, from a state that goes on.
TREADLE_FAMILY(xlaRandomKernels)
