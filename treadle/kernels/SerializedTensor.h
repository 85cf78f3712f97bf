// Tensors as text: the bytes of a protocol buffer `TensorProto`, which ops exchange as strings.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// Where the bytes of strings stand: together as `tensor_content`, or a field each.
enum class TextPlace : uint8_t { Content, Listed };

/// The bytes of `tensor`, which holds plain elements or strings; empty for others.
std::string serializedTensor(const Tensor &tensor, TextPlace place = TextPlace::Content);

/// Only the elements of a tensor of plain elements or strings, each in a field or packed into one,
/// as fields of such a message.
std::string listedElementsOf(const Tensor &tensor);

/// The tensor that such bytes stand for; InvalidArgument where they are something else. Of elements
/// that are listed one by one the last stands for all that are missing.
Expected<Tensor> parsedTensor(std::string_view bytes);

} // namespace treadle
