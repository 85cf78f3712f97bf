// Tensors as text: the bytes of a protocol buffer `TensorProto`, which ops exchange as strings.
#pragma once

#include "treadle/runtime/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// The bytes of `tensor`, which holds plain elements or strings; empty for others.
std::string serializedTensor(const Tensor &tensor);

/// The tensor that such bytes stand for. InvalidArgument where they are something else,
/// Unimplemented where elements are listed one by one instead of as `tensor_content`.
Expected<Tensor> parsedTensor(std::string_view bytes);

} // namespace treadle
