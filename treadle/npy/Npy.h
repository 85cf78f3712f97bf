// numpy's .npy format: one array with its dtype and shape.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace treadle {

/// The array in the bytes of a .npy file (versions 1 to 3, either byte order, C or Fortran layout).
/// Text (`S`, `U`) and object arrays of bytes or str become strings; `expected` names the dtype of
/// elements that numpy has no name for (it stores bfloat16 as plain bytes). InvalidArgument if the
/// bytes are malformed, Unimplemented for element types that tensors lack.
Expected<Tensor> readNpy(std::string_view bytes, DType expected = DType::Invalid);

/// The same from a file; NotFound if there is none.
Expected<Tensor> readNpyFile(const std::string &path, DType expected = DType::Invalid);

/// The bytes of a .npy file with this array. Strings are stored as `S`, which cannot tell trailing
/// zero bytes from padding: InvalidArgument where a string ends in one.
Expected<std::string> writeNpy(const Tensor &tensor);

/// The bytes of a file; NotFound if there is none, PermissionDenied if it can't be read.
Expected<std::string> readFileBytes(const std::string &path);
/// Replaces a file as a whole or not at all; what is no file, such as a pipe, is written to.
Expected<void> writeFileBytes(const std::string &path, std::string_view bytes);

} // namespace treadle
