#include "treadle/collective/MessageBytes.h"

#include <cstring>
#include <vector>

namespace treadle {
namespace {

struct Header {
  uint32_t keySize;
  uint16_t dtype;
  uint16_t rank;
};

} // namespace

std::string messageBytes(const std::string &key, const Tensor &value) {
  Header header{static_cast<uint32_t>(key.size()), static_cast<uint16_t>(value.dtype()),
                static_cast<uint16_t>(value.rank())};
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes += key;
  bytes.append(reinterpret_cast<const char *>(value.dims().data()),
               value.dims().size() * sizeof(int64_t));
  bytes.append(static_cast<const char *>(value.raw()), value.bytes());
  return bytes;
}

std::optional<Message> messageOf(int from, std::string_view bytes) {
  Header header;
  if (bytes.size() < sizeof(header))
    return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes.remove_prefix(sizeof(header));
  size_t dimsSize = header.rank * sizeof(int64_t);
  auto dtype = static_cast<DType>(header.dtype);
  if (bytes.size() < header.keySize + dimsSize || header.dtype >= numDTypes ||
      dtype == DType::Invalid || !isPlain(dtype))
    return std::nullopt;
  std::string key(bytes.substr(0, header.keySize));
  std::vector<int64_t> dims(header.rank);
  bytes.copy(reinterpret_cast<char *>(dims.data()), dimsSize, header.keySize);
  bytes.remove_prefix(header.keySize + dimsSize);
  std::optional<int64_t> count = countElements(dims);
  if (!count || static_cast<uint64_t>(*count) > bytes.size())
    return std::nullopt;
  Expected<Tensor> value = Tensor::make(dtype, dims);
  if (!value || value->bytes() != bytes.size())
    return std::nullopt;
  bytes.copy(static_cast<char *>(value->raw()), bytes.size());
  return Message{from, std::move(key), std::move(*value)};
}

} // namespace treadle
