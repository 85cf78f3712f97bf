// Tensors serialized as protocol buffers `TensorProto`, which ops exchange as strings.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// The encoding of strings: all together as `tensor_content`, or one field each.
enum class StringEncoding : uint8_t { Content, Listed };

/// Serializes `tensor`, whose elements must be of a fixed size or strings; returns "" for others.
std::string serializeTensorProto(const Tensor &tensor,
                                 StringEncoding place = StringEncoding::Content);

/// Serializes only the elements of such a tensor, one field each or packed into one, as fields of a
/// TensorProto.
std::string serializeElements(const Tensor &tensor);

/// Parses a serialized TensorProto; InvalidArgument if the bytes aren't one. If fewer elements are
/// listed than the shape has, the last one is repeated.
Expected<Tensor> parseTensorProto(std::string_view bytes);

} // namespace treadle
