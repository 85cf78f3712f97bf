// Runs each reader on its seeds, and on copies with bytes changed, removed and duplicated.
#include "fuzz/readers/Readers.h"

#include <gtest/gtest.h>

#include <random>

namespace treadle::fuzz {
namespace {

using Random = std::mt19937_64;

size_t pick(Random &random, size_t count) {
  return std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

char strangeByte(Random &random) {
  constexpr unsigned char values[] = {0,   1,   2,   8,   0x7f, 0x80, 0xfe, 0xff,
                                      '[', '<', '(', '{', '"',  '-',  '9'};
  return static_cast<char>(pick(random, 3) ? values[pick(random, std::size(values))]
                                           : pick(random, 256));
}

void damageOnce(std::string &bytes, Random &random) {
  size_t at = bytes.empty() ? 0 : pick(random, bytes.size());
  switch (pick(random, 6)) {
  case 0:
    return bytes.resize(at);
  case 1:
    bytes.erase(at, 1 + pick(random, 8));
    return;
  case 2:
    bytes.insert(at, bytes.substr(at, 1 + pick(random, 16)));
    return;
  case 3:
    bytes.insert(at, 1 + pick(random, 4), strangeByte(random));
    return;
  default:
    for (size_t i = at; i < std::min(bytes.size(), at + 1 + pick(random, 4)); ++i)
      bytes[i] = strangeByte(random);
  }
}

class DamagedSeeds : public testing::TestWithParam<Reader> {};

TEST_P(DamagedSeeds, GiveAValueOrAnError) {
  const Reader &reader = GetParam();
  constexpr int timesEach = 300;
  Random random(1);
  for (const std::string &seed : reader.seeds()) {
    reader.read(seed);
    for (int i = 0; i < timesEach; ++i) {
      std::string bytes = seed;
      for (size_t changes = 1 + pick(random, 4); changes > 0; --changes)
        damageOnce(bytes, random);
      reader.read(bytes);
    }
  }
  reader.read("");
}

INSTANTIATE_TEST_SUITE_P(Readers, DamagedSeeds,
                         testing::ValuesIn(allReaders().begin(), allReaders().end()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace treadle::fuzz
