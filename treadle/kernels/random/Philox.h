// TensorFlow's counter-based random number generator: Philox 4x32 with ten rounds (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace treadle {

/// A stream of blocks of four 32-bit numbers. `skip` reaches any block in constant time.
class Philox {
public:
  using Block = std::array<uint32_t, 4>;
  static constexpr int rounds = 10;
  static constexpr uint32_t factors[2] = {0xD2511F53, 0xCD9E8D57};
  static constexpr uint32_t keySteps[2] = {0x9E3779B9, 0xBB67AE85};
  /// The key of the stream that derives keys and counters from seeds.
  static constexpr uint64_t spreadingKey = uint64_t{0x02461e29} << 32 | 0x3ec8f720;

  Philox() = default;
  Philox(Block counter, std::array<uint32_t, 2> key) : counter(counter), key(key) {}

  /// Returns the stream for the two seeds of an op.
  static Philox fromSeeds(uint64_t seed, uint64_t seed2) {
    return {{0, 0, low(seed2), high(seed2)}, {low(seed), high(seed)}};
  }
  /// Returns the stream for a key and a counter of two words, as in stateless ops.
  static Philox fromKey(uint64_t key, uint64_t counter0, uint64_t counter1) {
    return {{low(counter0), high(counter0), low(counter1), high(counter1)}, {low(key), high(key)}};
  }

  Block next() {
    Block block = counter;
    std::array<uint32_t, 2> k = key;
    for (int round = 0; round < rounds; ++round) {
      uint64_t a = uint64_t{factors[0]} * block[0];
      uint64_t b = uint64_t{factors[1]} * block[2];
      block = {high(b) ^ block[1] ^ k[0], low(b), high(a) ^ block[3] ^ k[1], low(a)};
      k[0] += keySteps[0];
      k[1] += keySteps[1];
    }
    skip(1);
    return block;
  }

  void skip(uint64_t blocks) {
    uint64_t first = uint64_t{counter[0]} | uint64_t{counter[1]} << 32;
    uint64_t sum = first + blocks;
    counter[0] = low(sum);
    counter[1] = high(sum);
    if (sum < first && ++counter[2] == 0)
      ++counter[3];
  }

  /// Computes number `i` of block `b` as out[i][b], for the next `count` blocks, without advancing
  /// the stream. Vectorizes over blocks.
  template <int count> void peek(uint32_t (&out)[4][count]) const {
    uint32_t keys[2] = {key[0], key[1]};
    for (int b = 0; b < count; ++b) {
      Philox at = *this;
      at.skip(static_cast<uint64_t>(b));
      for (unsigned i = 0; i < 4; ++i)
        out[i][b] = at.counter[i];
    }
    for (int round = 0; round < rounds; ++round) {
#pragma clang loop vectorize(enable)
      for (int b = 0; b < count; ++b) {
        uint64_t a = uint64_t{factors[0]} * out[0][b], c = uint64_t{factors[1]} * out[2][b];
        uint32_t first = high(c) ^ out[1][b] ^ keys[0], third = high(a) ^ out[3][b] ^ keys[1];
        out[0][b] = first;
        out[1][b] = low(c);
        out[2][b] = third;
        out[3][b] = low(a);
      }
      keys[0] += keySteps[0];
      keys[1] += keySteps[1];
    }
  }

  Block counter{};
  std::array<uint32_t, 2> key{};

private:
  static constexpr uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
  static constexpr uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }
};

/// Iterates over the single numbers of a stream.
class PhiloxNumbers {
public:
  explicit PhiloxNumbers(Philox &stream) : stream(stream) {}
  uint32_t next() {
    if (used == 4) {
      block = stream.next();
      used = 0;
    }
    return block[used++];
  }

private:
  Philox &stream;
  Philox::Block block{};
  unsigned used = 4;
};

} // namespace treadle
