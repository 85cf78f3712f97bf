#include "treadle/riegeli/HighwayHash.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace treadle::riegeli {
namespace {

// "Riegeli/", "records\n", twice, as little-endian numbers.
constexpr std::array<uint64_t, 4> key = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952,
                                         0x0a7364726f636572};

uint64_t swapHalves(uint64_t value) { return std::rotl(value, 32); }

/// The bytes of two lanes, shuffled, are added to two others.
void zipperMergeAndAdd(uint64_t high, uint64_t low, uint64_t &addHigh, uint64_t &addLow) {
  addLow += (((low & 0xff000000) | (high & 0xff00000000)) >> 24) |
            (((low & 0xff0000000000) | (high & 0xff000000000000)) >> 16) | (low & 0xff0000) |
            ((low & 0xff00) << 32) | ((high & 0xff00000000000000) >> 8) | (low << 56);
  addHigh += (((high & 0xff000000) | (low & 0xff00000000)) >> 24) | (high & 0xff0000) |
             ((high & 0xff0000000000) >> 16) | ((high & 0xff00) << 24) |
             ((low & 0xff000000000000) >> 8) | ((high & 0xff) << 48) | (low & 0xff00000000000000);
}

uint64_t rotateHalves(uint64_t value, int count) {
  uint64_t low = std::rotl(static_cast<uint32_t>(value), count);
  uint64_t high = std::rotl(static_cast<uint32_t>(value >> 32), count);
  return high << 32 | low;
}

} // namespace

HighwayHash::HighwayHash()
    : mul0{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3},
      mul1{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377} {
  for (size_t i = 0; i < key.size(); ++i) {
    v0[i] = mul0[i] ^ key[i];
    v1[i] = mul1[i] ^ swapHalves(key[i]);
  }
}

void HighwayHash::update(const Lanes &lanes) {
  constexpr uint64_t low = 0xffffffff;
  for (size_t i = 0; i < lanes.size(); ++i) {
    v1[i] += mul0[i] + lanes[i];
    mul0[i] ^= (v1[i] & low) * (v0[i] >> 32);
    v0[i] += mul1[i];
    mul1[i] ^= (v0[i] & low) * (v1[i] >> 32);
  }
  zipperMergeAndAdd(v1[1], v1[0], v0[1], v0[0]);
  zipperMergeAndAdd(v1[3], v1[2], v0[3], v0[2]);
  zipperMergeAndAdd(v0[1], v0[0], v1[1], v1[0]);
  zipperMergeAndAdd(v0[3], v0[2], v1[3], v1[2]);
}

void HighwayHash::updatePacket(const char *packet) {
  Lanes lanes;
  std::memcpy(lanes.data(), packet, packetSize);
  update(lanes);
}

void HighwayHash::add(std::string_view bytes) {
  while (!bytes.empty()) {
    if (restSize == 0 && bytes.size() >= packetSize) {
      updatePacket(bytes.data());
      bytes.remove_prefix(packetSize);
      continue;
    }
    size_t taken = std::min(packetSize - restSize, bytes.size());
    std::memcpy(rest.data() + restSize, bytes.data(), taken);
    bytes.remove_prefix(taken);
    restSize += taken;
    if (restSize == packetSize) {
      updatePacket(rest.data());
      restSize = 0;
    }
  }
}

/// The last bytes, fewer than a packet: their number goes in as well, and the odd ones go to places
/// that depend on it.
void HighwayHash::updateRest() {
  for (uint64_t &lane : v0)
    lane += (static_cast<uint64_t>(restSize) << 32) + restSize;
  for (uint64_t &lane : v1)
    lane = rotateHalves(lane, static_cast<int>(restSize));
  size_t odd = restSize % 4, whole = restSize - odd;
  const char *tail = rest.data() + whole;
  std::array<char, packetSize> packet{};
  std::memcpy(packet.data(), rest.data(), whole);
  if (restSize & 16) {
    std::memcpy(packet.data() + 28, tail + odd - 4, 4);
  } else if (odd != 0) {
    packet[16] = tail[0];
    packet[17] = tail[odd / 2];
    packet[18] = tail[odd - 1];
  }
  updatePacket(packet.data());
}

uint64_t HighwayHash::finish() {
  if (restSize != 0)
    updateRest();
  constexpr int numRounds = 4;
  for (int i = 0; i < numRounds; ++i)
    update({swapHalves(v0[2]), swapHalves(v0[3]), swapHalves(v0[0]), swapHalves(v0[1])});
  return v0[0] + v1[0] + mul0[0] + mul1[0];
}

} // namespace treadle::riegeli
