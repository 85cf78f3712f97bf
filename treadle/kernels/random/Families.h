// Kernels for random numbers, from streams in the session, from generator variables and from seeds.
#include "treadle/runtime/Kernel.h"

/// Ops that sample candidate classes for sampled losses, with their expected counts; and
/// ComputeAccidentalHits.
TREADLE_FAMILY(candidateSamplingKernels)
/// Multinomial: samples classes from logits.
TREADLE_FAMILY(multinomialKernels)
/// Stateful random ops (RandomUniform and others), which draw from a stream that persists between
/// runs.
TREADLE_FAMILY(randomKernels)
/// Samples of gamma, Poisson and binomial distributions with tensor parameters.
TREADLE_FAMILY(randomSampleKernels)
/// Random ops on generator variables (tf.random.Generator): each op draws from the state and
/// advances it.
TREADLE_FAMILY(randomStatefulKernels)
/// Stateless random ops: pure functions of a seed, or in their V2 forms of the key and counter that
/// StatelessRandomGetKeyCounter derives from it.
TREADLE_FAMILY(randomStatelessKernels)
/// Truncated normal distributions with mean, deviation and bounds as tensors.
TREADLE_FAMILY(randomTruncatedKernels)
/// SobolSample: low-discrepancy sequences.
TREADLE_FAMILY(sobolKernels)
/// XlaRngBitGenerator: Philox 4x32 and ThreeFry 2x32 with explicit state.
TREADLE_FAMILY(xlaRandomKernels)
