// Elements as 64-bit keys that are equal where the elements are: for ops that look for equal ones,
// so that they need no code of their own for each dtype.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace treadle {

/// True for booleans, real numbers and strings.
bool hasElementKeys(DType dtype);

/// Makes keys for elements of one dtype. Zeros are equal whatever their sign; a NaN equals nothing,
/// not even itself. The tensors must outlive it.
class ElementKeys {
public:
  /// Keys of all elements of `tensor`, comparable with those of every other call.
  std::vector<uint64_t> of(const Tensor &tensor);

private:
  std::unordered_map<std::string_view, uint64_t> strings;
  uint64_t nans = 0;
};

} // namespace treadle
