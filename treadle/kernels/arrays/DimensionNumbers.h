// The attribute `dimension_numbers` of XLA's ops: a serialized message whose fields are lists of
// integers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace treadle {

/// Parses a protobuf message: field 1 into fields[0] and so on, each repeated or packed. Returns
/// false if the bytes are something else.
bool readDimensionNumbers(std::string_view bytes, std::span<std::vector<int64_t> *const> fields);

/// Returns whether a list of dimensions contains `dim`.
bool contains(const std::vector<int64_t> &dims, int64_t dim);
/// Returns whether the dimensions differ from each other and are in [0, rank).
bool areDistinct(std::vector<int64_t> dims, int64_t rank);

} // namespace treadle
