// Shapes and slices of tensors as protocol buffers: TensorShapeProto and TensorSliceProto.
#pragma once

#include "treadle/checkpoint/Slice.h"

#include <string>
#include <string_view>
#include <vector>

namespace treadle {

std::string shapeMessage(Dims dims);
std::string sliceMessage(const TensorSlice &slice);

/// These add to what is there. False for what is malformed or makes no sense, a shape of unknown
/// rank or with too many elements among it.
bool readShape(std::string_view message, std::vector<int64_t> &dims);
bool readSlice(std::string_view message, TensorSlice &slice);

} // namespace treadle
