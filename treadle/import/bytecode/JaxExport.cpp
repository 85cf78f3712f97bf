// The file is a flatbuffer: a table whose fields are found by the places in another table.
#include "treadle/import/bytecode/JaxExport.h"

#include "treadle/import/bytecode/Bytecode.h"

#include "llvm/Support/Endian.h"

using namespace treadle;

// Where the artifact's place stands; JAX has kept it since version 2 of the format.
static constexpr uint64_t artifactField = 30;

namespace {

/// Numbers of a flatbuffer; what lies outside of it is none.
class Flatbuffer {
public:
  explicit Flatbuffer(std::string_view bytes) : bytes(bytes) {}

  std::optional<std::string_view> artifact() const;

private:
  template <typename T> std::optional<T> at(uint64_t place) const {
    if (place > bytes.size() || bytes.size() - place < sizeof(T))
      return std::nullopt;
    return llvm::support::endian::read<T, llvm::endianness::little>(bytes.data() + place);
  }
  /// The place that stands at another, relative to that.
  std::optional<uint64_t> follow(uint64_t place) const {
    std::optional<uint32_t> distance = at<uint32_t>(place);
    return distance ? std::optional(place + *distance) : std::nullopt;
  }
  std::optional<std::string_view> bytesAt(uint64_t place) const;

  std::string_view bytes;
};

} // namespace

std::optional<std::string_view> Flatbuffer::bytesAt(uint64_t place) const {
  std::optional<uint32_t> size = at<uint32_t>(place);
  uint64_t begin = place + sizeof(uint32_t);
  if (!size || *size > bytes.size() - begin)
    return std::nullopt;
  return bytes.substr(begin, *size);
}

std::optional<std::string_view> Flatbuffer::artifact() const {
  std::optional<uint64_t> table = follow(0);
  std::optional<int32_t> back = table ? at<int32_t>(*table) : std::nullopt;
  if (!back)
    return std::nullopt;
  uint64_t places = *table - static_cast<uint64_t>(static_cast<int64_t>(*back));
  std::optional<uint16_t> size = at<uint16_t>(places), field = at<uint16_t>(places + artifactField);
  if (!size || !field || *size < artifactField + sizeof(uint16_t) || *field == 0)
    return std::nullopt;
  std::optional<uint64_t> list = follow(*table + *field);
  return list ? bytesAt(*list) : std::nullopt;
}

std::optional<std::string_view> treadle::artifactOfJaxExport(std::string_view bytes) {
  std::optional<std::string_view> found = Flatbuffer(bytes).artifact();
  return found && isBytecode(*found) ? found : std::nullopt;
}
