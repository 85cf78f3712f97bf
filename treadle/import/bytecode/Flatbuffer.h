// Reads flatbuffers: tables whose fields are found through vtables. Each offset is validated
// against the size of the bytes.
#pragma once

#include "llvm/Support/Endian.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace treadle::flatbuffer {

/// Numbers at offsets; nullopt outside of the bytes.
class Bytes {
public:
  explicit Bytes(std::string_view bytes) : bytes(bytes) {}

  template <typename T> std::optional<T> at(uint64_t place) const {
    if (place > bytes.size() || bytes.size() - place < sizeof(T))
      return std::nullopt;
    return llvm::support::endian::read<T, llvm::endianness::little>(bytes.data() + place);
  }
  /// Follows a relative offset.
  std::optional<uint64_t> follow(uint64_t place) const {
    std::optional<uint32_t> distance = at<uint32_t>(place);
    return distance ? std::optional(place + *distance) : std::nullopt;
  }
  std::string_view part(uint64_t begin, uint64_t size) const { return bytes.substr(begin, size); }
  uint64_t size() const { return bytes.size(); }

private:
  std::string_view bytes;
};

/// The elements of a vector, `stride` bytes each; a corrupted vector is empty.
struct Vector {
  Bytes bytes;
  uint64_t begin = 0, count = 0;

  static std::optional<Vector> at(Bytes bytes, uint64_t place, uint64_t stride) {
    std::optional<uint32_t> count = bytes.at<uint32_t>(place);
    uint64_t begin = place + sizeof(uint32_t);
    if (!count || *count > (bytes.size() - begin) / stride)
      return std::nullopt;
    return Vector{bytes, begin, *count};
  }
};

class Table {
public:
  static std::optional<Table> at(Bytes bytes, uint64_t place) {
    std::optional<int32_t> back = bytes.at<int32_t>(place);
    if (!back)
      return std::nullopt;
    uint64_t places = place - static_cast<uint64_t>(static_cast<int64_t>(*back));
    std::optional<uint16_t> size = bytes.at<uint16_t>(places);
    return size ? std::optional(Table(bytes, place, places, *size)) : std::nullopt;
  }
  static std::optional<Table> root(Bytes bytes) {
    std::optional<uint64_t> place = bytes.follow(0);
    return place ? at(bytes, *place) : std::nullopt;
  }

  /// Returns the offset of a field; nullopt if it is missing.
  std::optional<uint64_t> field(unsigned number) const {
    constexpr unsigned first = 4; // after two sizes
    uint64_t entry = first + 2 * uint64_t{number};
    std::optional<uint16_t> offset =
        entry + 2 <= size ? bytes.at<uint16_t>(places + entry) : std::nullopt;
    return offset && *offset ? std::optional(place + *offset) : std::nullopt;
  }
  template <typename T> std::optional<T> number(unsigned field) const {
    std::optional<uint64_t> at = this->field(field);
    return at ? bytes.at<T>(*at) : std::optional(T());
  }
  /// Returns the offset that a field refers to, which may be out of bounds; nullopt if the field is
  /// missing.
  std::optional<uint64_t> target(unsigned field) const {
    std::optional<uint64_t> at = this->field(field);
    return at ? bytes.follow(*at) : std::nullopt;
  }
  /// Returns an empty vector for a missing field; nullopt if it is corrupted.
  std::optional<Vector> vector(unsigned field, uint64_t stride) const {
    if (!this->field(field))
      return Vector{bytes, 0, 0};
    std::optional<uint64_t> target = this->target(field);
    return target ? Vector::at(bytes, *target, stride) : std::nullopt;
  }
  std::optional<std::string_view> text(unsigned field) const {
    std::optional<Vector> list = vector(field, 1);
    return list ? std::optional(bytes.part(list->begin, list->count)) : std::nullopt;
  }
  /// Returns nullopt for a missing field, too.
  std::optional<Table> table(unsigned field) const {
    std::optional<uint64_t> target = this->target(field);
    return target ? Table::at(bytes, *target) : std::nullopt;
  }

private:
  Table(Bytes bytes, uint64_t place, uint64_t places, uint64_t size)
      : bytes(bytes), place(place), places(places), size(size) {}

  Bytes bytes;
  uint64_t place, places, size;
};

} // namespace treadle::flatbuffer
