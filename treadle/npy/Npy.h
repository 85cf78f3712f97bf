// numpy's .npy format: one array with its dtype and shape.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// Parses a .npy file (versions 1 to 3, either byte order, C or Fortran layout). Text (`S`, `U`)
/// and object arrays of bytes or str become strings. `expected` is the dtype for elements without a
/// numpy name (bfloat16, for example, is stored as plain bytes). InvalidArgument if the bytes are
/// malformed; Unimplemented for element types that tensors don't have.
Expected<Tensor> readNpy(std::string_view bytes, DType expected = DType::Invalid);

/// Reads a .npy file. NotFound if it doesn't exist.
Expected<Tensor> readNpyFile(const std::string &path, DType expected = DType::Invalid);

/// Serializes a tensor as a .npy file. Strings are stored as `S`, which can't distinguish trailing
/// zero bytes from padding: InvalidArgument if a string ends in one.
Expected<std::string> writeNpy(const Tensor &tensor);

/// Reads a whole file. NotFound if it doesn't exist, PermissionDenied if it can't be read.
Expected<std::string> readFileBytes(const std::string &path);
/// Replaces a file atomically; writes to existing pipes and devices in place.
Expected<void> writeFileBytes(const std::string &path, std::string_view bytes);

} // namespace treadle
