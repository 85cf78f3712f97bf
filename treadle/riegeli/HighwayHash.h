// HighwayHash, 64 bits, with the key of Riegeli files.
// Alakuijala, Cox, Wassenberg: Fast keyed hash/pseudo-random function using SIMD multiply and
// permute.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace treadle::riegeli {

/// Bytes come in any number of parts; the hash is that of all of them in a row.
class HighwayHash {
public:
  HighwayHash();

  void add(std::string_view bytes);
  /// The hash of what was added; nothing can be added after it.
  uint64_t finish();

private:
  using Lanes = std::array<uint64_t, 4>;
  static constexpr size_t packetSize = 32;

  void update(const Lanes &lanes);
  void updatePacket(const char *packet);
  void updateRest();

  Lanes mul0, mul1, v0, v1;
  std::array<char, packetSize> rest{};
  size_t restSize = 0;
};

inline uint64_t hashOf(std::string_view bytes) {
  HighwayHash hash;
  hash.add(bytes);
  return hash.finish();
}

} // namespace treadle::riegeli
