#include "treadle/kernels/arrays/DimensionNumbers.h"

#include "treadle/tensor/Wire.h"

#include <algorithm>

namespace treadle {

bool readDimensionNumbers(std::string_view bytes, std::span<std::vector<int64_t> *const> fields) {
  return forEachField(bytes, [&](const WireReader::Field &field) {
    if (field.number == 0 || field.number > fields.size())
      return false;
    return forEachNumber(field, WireType::Varint, [&](uint64_t value) {
      fields[field.number - 1]->push_back(static_cast<int64_t>(value));
    });
  });
}

bool contains(const std::vector<int64_t> &dims, int64_t dim) {
  return std::ranges::find(dims, dim) != dims.end();
}

bool areDistinct(std::vector<int64_t> dims, int64_t rank) {
  std::ranges::sort(dims);
  return std::ranges::adjacent_find(dims) == dims.end() &&
         (dims.empty() || (dims.front() >= 0 && dims.back() < rank));
}

} // namespace treadle
