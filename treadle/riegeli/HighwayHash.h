// HighwayHash, 64 bits, with the key of Riegeli files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace treadle::riegeli {

/// The hash of all parts in a row.
uint64_t hashOf(const std::vector<std::string_view> &parts);

} // namespace treadle::riegeli
