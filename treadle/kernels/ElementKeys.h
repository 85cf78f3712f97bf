// 64-bit keys that are equal if the elements are equal: ops that search for equal elements need no
// code per dtype.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace treadle {

/// Whether `dtype` has keys: booleans, real numbers and strings do.
bool hasElementKeys(DType dtype);

/// Makes keys for elements of one dtype. Zeros are equal regardless of sign; a NaN equals nothing,
/// not even itself. The tensors must outlive this object.
class ElementKeys {
public:
  /// Returns the keys of all elements of `tensor`, comparable with those of every other call.
  std::vector<uint64_t> of(const Tensor &tensor);

private:
  std::unordered_map<std::string_view, uint64_t> strings;
  uint64_t nans = 0;
};

} // namespace treadle
