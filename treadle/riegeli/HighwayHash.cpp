#include "treadle/riegeli/HighwayHash.h"

#include <highwayhash/highwayhash_target.h>
#include <highwayhash/instruction_sets.h>

namespace treadle::riegeli {

uint64_t hashOf(const std::vector<std::string_view> &parts) {
  // "Riegeli/", "records
  // ", twice, as little-endian numbers.
  constexpr highwayhash::HHKey key = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952,
                                      0x0a7364726f636572};
  std::vector<highwayhash::StringView> fragments;
  for (std::string_view part : parts)
    fragments.push_back({part.data(), part.size()});
  highwayhash::HHResult64 hash;
  highwayhash::InstructionSets::Run<highwayhash::HighwayHashCat>(key, fragments.data(),
                                                                 fragments.size(), &hash);
  return hash;
}

} // namespace treadle::riegeli
