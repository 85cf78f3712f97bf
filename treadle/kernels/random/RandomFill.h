// Fills tensors with random numbers from a Philox stream, the same ones that TensorFlow's CPU
// kernels draw from it.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/random/Philox.h"

#include <functional>

namespace treadle {

/// What the distributions of integers are told.
struct IntegerRange {
  uint64_t low = 0;  // sign-extended
  uint64_t size = 0; // numbers in the range
};

/// Writes the elements of the groups [firstGroup, endGroup) of a tensor of `count` elements.
using RandomFillFn = void (*)(const Philox &stream, const IntegerRange &range, int64_t firstGroup,
                              int64_t endGroup, void *out, int64_t count);

struct RandomFill {
  RandomFillFn fn = nullptr;
  int groupSize = 4;
  float cost = 2; // ns an element
};

enum class Distribution : uint8_t { Uniform, Normal, TruncatedNormal, UniformInt, UniformFullInt };

/// `fn` is null where there is no kernel for the dtype.
RandomFill randomFillFor(Distribution distribution, DType dtype);

/// Fills `out`, with several threads if it is large.
void fillRandom(OpContext &ctx, const RandomFill &fill, const Philox &stream,
                const IntegerRange &range, Tensor &out);

/// Allocates output 0 in the shape that input `i` holds; null having failed.
Tensor *allocateRandomOutput(OpContext &ctx, int i, DType dtype);

/// The range that two scalar inputs give; false having failed where it is empty.
bool readIntegerRange(OpContext &ctx, int lowInput, int highInput, IntegerRange &range);

/// Puts the rows of input 0 in another order, as in Fisher and Yates' shuffle, with one number a
/// place; `streamOf` gives the stream, told how many blocks are needed.
void shuffleRows(OpContext &ctx, const std::function<Philox(uint64_t blocks)> &streamOf);

} // namespace treadle
