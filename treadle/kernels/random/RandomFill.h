// Fills tensors with random numbers from a Philox stream, identical to TensorFlow's CPU kernels.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/random/Philox.h"

#include <functional>

namespace treadle {

/// The range of an integer distribution.
struct IntegerRange {
  uint64_t low = 0;  // sign-extended
  uint64_t size = 0; // number of values
};

/// Writes the elements of the groups [firstGroup, endGroup) of a tensor of `count` elements.
using RandomFillFn = void (*)(const Philox &stream, const IntegerRange &range, int64_t firstGroup,
                              int64_t endGroup, void *out, int64_t count);

struct RandomFill {
  RandomFillFn fn = nullptr;
  int groupSize = 4;
  float cost = 2; // ns per element
};

enum class Distribution : uint8_t { Uniform, Normal, TruncatedNormal, UniformInt, UniformFullInt };

/// Returns the function for the distribution; `fn` is null if the dtype isn't supported.
RandomFill randomFillFor(Distribution distribution, DType dtype);

/// Fills `out`, in parallel if it is large.
void fillRandom(OpContext &ctx, const RandomFill &fill, const Philox &stream,
                const IntegerRange &range, Tensor &out);

/// Allocates output 0 with the shape in input `i`; returns null after failing the op.
Tensor *allocateRandomOutput(OpContext &ctx, int i, DType dtype);

/// Reads a range from two scalar inputs; returns false after failing the op if it is empty.
bool readIntegerRange(OpContext &ctx, int lowInput, int highInput, IntegerRange &range);

/// Shuffles the rows of input 0 (Fisher-Yates), with one random number per row. `streamOf` returns
/// the stream, given the number of blocks needed.
void shuffleRows(OpContext &ctx, const std::function<Philox(uint64_t blocks)> &streamOf);

} // namespace treadle
