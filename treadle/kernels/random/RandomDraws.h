// Single numbers from a Philox stream, as TensorFlow's kernels draw them that need only a few.
#pragma once

#include "treadle/kernels/random/Philox.h"

#include <bit>

namespace treadle {

class RandomDraws {
public:
  explicit RandomDraws(const Philox &start) : stream(start), numbers(stream) {}
  RandomDraws(const RandomDraws &) = delete;

  uint32_t bits() { return numbers.next(); }

  /// Returns a uniform number in [0, n); 0 for n = 0.
  uint32_t below(uint32_t n) {
    if ((n & (n - 1)) == 0) // a power of two
      return n ? bits() & (n - 1) : bits() * n;
    uint32_t surplus = UINT32_MAX % n + 1, drawn;
    do
      drawn = bits();
    while (drawn < surplus);
    return drawn % n;
  }

  /// Returns a number in [0, 1) with random mantissa bits.
  float real() { return std::bit_cast<float>(uint32_t{127} << 23 | (bits() & 0x7fffff)) - 1; }
  double longReal() {
    uint64_t high = bits() & 0xfffff, low = bits();
    return std::bit_cast<double>(uint64_t{1023} << 52 | high << 32 | low) - 1;
  }

  /// Returns the number of blocks that hold `n` 32-bit numbers.
  static constexpr uint64_t blocksFor(uint64_t n) { return (n + 3) / 4; }

private:
  Philox stream;
  PhiloxNumbers numbers;
};

} // namespace treadle
