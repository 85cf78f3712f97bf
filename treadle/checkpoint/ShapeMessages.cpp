#include "treadle/checkpoint/ShapeMessages.h"

#include "treadle/tensor/Wire.h"

namespace treadle {
namespace {

// Field numbers of the messages.
namespace shape {
enum Field : uint32_t { Dim = 2, UnknownRank = 3 };
}
namespace dim {
enum Field : uint32_t { Size = 1 };
}
namespace slice {
enum Field : uint32_t { Extent = 1 };
}
namespace extent {
enum Field : uint32_t { Start = 1, Length = 2 };
}

} // namespace

std::string shapeMessage(Dims dims) {
  std::string out;
  for (int64_t size : dims) {
    std::string one;
    putNumber(one, dim::Size, static_cast<uint64_t>(size));
    putBytes(out, shape::Dim, one);
  }
  return out;
}

std::string sliceMessage(const TensorSlice &slice) {
  std::string out;
  for (const TensorSlice::Extent &extent : slice.extents) {
    std::string one;
    if (!extent.isFull()) {
      putNumber(one, extent::Start, static_cast<uint64_t>(extent.start));
      putNumberAlways(one, extent::Length, static_cast<uint64_t>(extent.length));
    }
    putBytes(out, slice::Extent, one);
  }
  return out;
}

bool readShape(std::string_view message, std::vector<int64_t> &dims) {
  bool isGood = forEachField(message, [&](const WireReader::Field &field) {
    if (field.number != shape::Dim)
      return field.number != shape::UnknownRank || !field.value;
    dims.push_back(0);
    return forEachField(field.bytes, [&](const WireReader::Field &inner) {
      if (inner.number == dim::Size)
        dims.back() = static_cast<int64_t>(inner.value);
      return true;
    });
  });
  return isGood && countElements(dims);
}

bool readSlice(std::string_view message, TensorSlice &read) {
  return forEachField(message, [&](const WireReader::Field &field) {
    if (field.number != slice::Extent)
      return true;
    TensorSlice::Extent &added = read.extents.emplace_back();
    return forEachField(field.bytes, [&](const WireReader::Field &inner) {
      if (inner.number == extent::Start)
        added.start = static_cast<int64_t>(inner.value);
      if (inner.number == extent::Length)
        added.length = static_cast<int64_t>(inner.value);
      return added.start >= 0 && added.length >= -1;
    });
  });
}

} // namespace treadle
