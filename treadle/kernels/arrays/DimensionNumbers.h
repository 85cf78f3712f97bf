// The attribute `dimension_numbers` of XLA's ops: a message whose fields are lists of integers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace treadle {

/// Reads protobuf's wire format: field 1 into fields[0] and so on, each alone or packed. False for
/// anything else.
bool readDimensionNumbers(std::string_view bytes, std::span<std::vector<int64_t> *const> fields);

} // namespace treadle
