// Hash functions whose values must never change: models are trained with them.
#pragma once

#include <cstdint>
#include <string_view>

namespace treadle {

/// FarmHash's Fingerprint64.
uint64_t farmFingerprint64(std::string_view bytes);

/// Murmur's 64-bit hash, variant A.
uint64_t murmurHash64(std::string_view bytes, uint64_t seed);

/// SipHash-2-4 with a key of 128 bits.
uint64_t sipHash24(std::string_view bytes, uint64_t key0, uint64_t key1);

/// TensorFlow's combination of two fingerprints, mixed as in Murmur's hash.
inline uint64_t fingerprintOfTwo(uint64_t a, uint64_t b) {
  constexpr uint64_t multiplier = 0xc6a4a7935bd1e995;
  auto mix = [](uint64_t x) { return x ^ (x >> 47); };
  uint64_t x = ((a ^ multiplier) ^ mix(b * multiplier) * multiplier) * multiplier;
  return mix(mix(x) * multiplier);
}

} // namespace treadle
