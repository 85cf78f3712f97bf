// Shapes and slices as protocol buffers: TensorShapeProto and TensorSliceProto.
#pragma once

#include "treadle/checkpoint/Slice.h"

#include <string>
#include <string_view>
#include <vector>

namespace treadle {

std::string shapeMessage(Dims dims);
std::string sliceMessage(const TensorSlice &slice);

/// Append to `dims` and `slice`. Return false for malformed messages, including shapes of unknown
/// rank or with too many elements.
bool readShape(std::string_view message, std::vector<int64_t> &dims);
bool readSlice(std::string_view message, TensorSlice &slice);

} // namespace treadle
