// Elements as 64-bit keys.
#include "treadle/kernels/ElementKeys.h"
#include "treadle/kernels/Element.h"

#include <bit>
#include <cmath>

namespace treadle {
namespace {

using ExactTypes = Join<IntegerTypes, TypeList<bool>>;

// Each NaN gets a number of its own in its payload bits.
constexpr uint64_t firstNan = 0x7ff8'0000'0000'0000;

} // namespace

bool hasElementKeys(DType dtype) {
  return visitType(dtype, Join<Join<RealTypes, TypeList<bool>>, TypeList<std::string>>(),
                   []<typename T>() {});
}

std::vector<uint64_t> ElementKeys::of(const Tensor &tensor) {
  std::vector<uint64_t> keys;
  keys.reserve(static_cast<size_t>(tensor.count()));
  visitType(tensor.dtype(), ExactTypes(), [&]<typename T>() {
    for (T value : tensor.values<T>())
      keys.push_back(static_cast<uint64_t>(value));
  });
  visitType(tensor.dtype(), FloatTypes(), [&]<typename T>() {
    for (T value : tensor.values<T>()) {
      auto wide = static_cast<double>(value);
      if (std::isnan(wide))
        keys.push_back(firstNan + nans++);
      else
        keys.push_back(wide == 0 ? 0 : std::bit_cast<uint64_t>(wide));
    }
  });
  if (tensor.dtype() == DType::String)
    for (const std::string &value : tensor.values<std::string>())
      keys.push_back(strings.try_emplace(value, strings.size()).first->second);
  return keys;
}

} // namespace treadle
