// HighwayHash (64 bits) with the key of Riegeli files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace treadle::riegeli {

/// Returns the hash of the concatenation of all parts.
uint64_t hashOf(const std::vector<std::string_view> &parts);

} // namespace treadle::riegeli
