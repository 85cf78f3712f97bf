#include "treadle/kernels/arrays/DimensionNumbers.h"

namespace treadle {

bool readDimensionNumbers(std::string_view bytes, std::span<std::vector<int64_t> *const> fields) {
  size_t at = 0;
  auto varint = [&](uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 64 && at < bytes.size(); shift += 7) {
      auto byte = static_cast<unsigned char>(bytes[at++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80)
        return true;
    }
    return false;
  };
  while (at < bytes.size()) {
    uint64_t tag, value;
    if (!varint(tag) || !varint(value) || tag >> 3 == 0 || tag >> 3 > fields.size())
      return false;
    std::vector<int64_t> &field = *fields[(tag >> 3) - 1];
    if ((tag & 7) == 0) {
      field.push_back(static_cast<int64_t>(value));
    } else if ((tag & 7) == 2 && value <= bytes.size() - at) {
      for (size_t end = at + value; at < end;) {
        if (!varint(value))
          return false;
        field.push_back(static_cast<int64_t>(value));
      }
    } else {
      return false;
    }
  }
  return true;
}

} // namespace treadle
