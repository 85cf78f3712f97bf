#include "treadle/sandbox/Message.h"

#include "treadle/tensor/Tensor.h"

#include <algorithm>
#include <array>
#include <new>

namespace treadle::sandbox {
namespace {

constexpr size_t maxCollected = size_t{1} << 14;
constexpr uint64_t maxTexts = uint64_t{1} << 20;
/// The rank is stored in one byte of a tensor's block.
constexpr uint64_t maxDims = 254;
constexpr size_t longestMessage = size_t{1} << 14;

Error malformedMessage(const auto &...what) {
  return dataLoss("the other process sent a malformed message: ", what...);
}

/// Valid elements of a small type, for which not all bytes are valid.
struct ValueRange {
  int least, most;
};
std::optional<ValueRange> rangeOf(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return ValueRange{0, 1};
  case DType::Int4:
    return ValueRange{-8, 7};
  case DType::UInt4:
    return ValueRange{0, 15};
  case DType::Int2:
    return ValueRange{-2, 1};
  case DType::UInt2:
    return ValueRange{0, 3};
  default:
    return std::nullopt;
  }
}

Expected<void> checkElements(const Tensor &tensor) {
  std::optional<ValueRange> range = rangeOf(tensor.dtype());
  if (!range)
    return {};
  const auto *elements = static_cast<const int8_t *>(tensor.raw());
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (elements[i] < range->least || elements[i] > range->most)
      return Unexpected(malformedMessage(static_cast<int>(elements[i]),
                                         " is out of range for dtype ", dtypeName(tensor.dtype())));
  return {};
}

bool isControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

} // namespace

bool canPass(DType dtype) {
  return dtype == DType::String || (dtype != DType::Invalid && isPlain(dtype));
}

void MessageWriter::bytes(std::span<const std::byte> data) {
  if (collected.size() + data.size() > maxCollected)
    flush();
  if (data.size() <= maxCollected)
    collected.insert(collected.end(), data.begin(), data.end());
  else if (outcome)
    outcome = ring.write(data, waitPolicy);
}

void MessageWriter::flush() {
  if (outcome)
    outcome = ring.write(collected, waitPolicy);
  collected.clear();
}

Expected<void> MessageWriter::finish() {
  flush();
  return outcome;
}

void MessageWriter::text(std::string_view text) {
  number<uint64_t>(text.size());
  bytes(bytesOf(text));
}

void MessageWriter::texts(const std::vector<std::string> &texts) {
  number<uint64_t>(texts.size());
  for (const std::string &each : texts)
    text(each);
}

void MessageWriter::tensor(const Tensor &tensor) {
  number(static_cast<uint64_t>(tensor.dtype()));
  number(static_cast<uint64_t>(tensor.rank()));
  for (int64_t dim : tensor.dims())
    number(dim);
  if (isPlain(tensor.dtype()))
    return bytes({static_cast<const std::byte *>(tensor.raw()), tensor.bytes()});
  for (const std::string &element : tensor.values<std::string>())
    text(element);
}

void MessageWriter::value(const Graph::Value &value) {
  text(value.name);
  number(static_cast<uint64_t>(value.dtype));
  number<uint64_t>(value.hasRank);
  number<uint64_t>(value.dims.size());
  for (int64_t dim : value.dims)
    number(dim);
  text(value.composite);
  text(value.compositeKind);
}

Expected<void> MessageReader::charge(uint64_t size) {
  if (size > left)
    return Unexpected(
        resourceExhausted("the other process sent more than the ", left, " bytes that are left"));
  left -= size;
  return {};
}

Expected<void> MessageReader::bytes(std::span<std::byte> data) {
  TREADLE_TRY(charge(data.size()));
  return ring.read(data, waitPolicy);
}

Expected<uint64_t> MessageReader::below(uint64_t end, const char *what) {
  uint64_t value = TREADLE_TRY(number<uint64_t>());
  if (value >= end)
    return Unexpected(malformedMessage(what, " ", value, ", expected less than ", end));
  return value;
}

Expected<void> MessageReader::skip(uint64_t size) {
  std::array<std::byte, 4096> scratch;
  for (; size > 0; size -= std::min<uint64_t>(size, scratch.size()))
    TREADLE_TRY(bytes(std::span(scratch).first(std::min<uint64_t>(size, scratch.size()))));
  return {};
}

Expected<std::string> MessageReader::text() {
  uint64_t size = TREADLE_TRY(number<uint64_t>());
  if (size > left)
    return charge(size).map([] { return std::string(); });
  std::string text;
  try {
    text.resize(size);
  } catch (const std::bad_alloc &) {
    TREADLE_TRY(skip(size));
    return Unexpected(resourceExhausted("out of memory for a string of ", size, " bytes"));
  }
  TREADLE_TRY(bytes(std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

Expected<std::string> MessageReader::message() {
  std::string text = TREADLE_TRY(this->text());
  text.resize(std::min(text.size(), longestMessage));
  std::ranges::replace_if(text, [](char c) { return isControl(c) && c != '\n' && c != '\t'; }, '?');
  return text;
}

Expected<std::string> MessageReader::name() {
  std::string name = TREADLE_TRY(text());
  if (name.size() > longestMessage || std::ranges::any_of(name, isControl))
    return Unexpected(
        malformedMessage("a name with control characters, or of ", name.size(), " bytes"));
  return name;
}

Expected<std::vector<std::string>> MessageReader::texts() {
  uint64_t count = TREADLE_TRY(below(maxTexts, "the number of strings"));
  std::vector<std::string> all;
  while (all.size() < count)
    all.push_back(TREADLE_TRY(text()));
  return all;
}

Expected<Tensor> MessageReader::tensor() {
  auto dtype = static_cast<DType>(TREADLE_TRY(below(numDTypes, "dtype")));
  if (!canPass(dtype))
    return Unexpected(malformedMessage("a tensor of dtype ", static_cast<int>(dtype)));
  std::vector<int64_t> dims(TREADLE_TRY(below(maxDims + 1, "rank")));
  for (int64_t &dim : dims)
    dim = TREADLE_TRY(number<int64_t>());
  std::optional<int64_t> count = countElements(dims);
  // Each element is charged with its size (strings: length), at least a byte, so that tensors
  // beyond the budget aren't allocated.
  if (!count)
    return Unexpected(malformedMessage("dimensions ", dimsText(dims)));
  if (static_cast<uint64_t>(*count) > left / dtypeSize(dtype))
    return Unexpected(resourceExhausted("a tensor of ", dimsText(dims), " is more than the ", left,
                                        " bytes that are left"));
  return elements(dtype, dims);
}

Expected<Tensor> MessageReader::elements(DType dtype, std::span<const int64_t> dims) {
  Expected<Tensor> made = Tensor::make(dtype, dims);
  if (!made) {
    TREADLE_TRY(skipElements(dtype, *countElements(dims)));
    return made;
  }
  Tensor tensor = std::move(*made);
  if (isPlain(dtype)) {
    TREADLE_TRY(bytes({static_cast<std::byte *>(tensor.raw()), tensor.bytes()}));
    TREADLE_TRY(checkElements(tensor));
    return tensor;
  }
  TREADLE_TRY(charge(tensor.bytes()));
  Expected<void> outcome;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    Expected<std::string> element = text();
    if (element)
      tensor.data<std::string>()[i] = std::move(*element);
    else if (element.error().code != Code::ResourceExhausted)
      return Unexpected(std::move(element.error()));
    else if (outcome)
      outcome = Unexpected(std::move(element.error()));
  }
  return outcome.map([&] { return std::move(tensor); });
}

Expected<void> MessageReader::skipElements(DType dtype, int64_t count) {
  if (isPlain(dtype))
    return skip(static_cast<uint64_t>(count) * dtypeSize(dtype));
  for (int64_t i = 0; i < count; ++i)
    TREADLE_TRY(skip(TREADLE_TRY(number<uint64_t>())));
  return {};
}

Expected<Graph::Value> MessageReader::value() {
  Graph::Value value;
  value.name = TREADLE_TRY(name());
  value.dtype = static_cast<DType>(TREADLE_TRY(below(numDTypes, "dtype")));
  value.hasRank = TREADLE_TRY(flag());
  value.dims.resize(TREADLE_TRY(below(maxDims + 1, "rank")));
  for (int64_t &dim : value.dims) {
    dim = TREADLE_TRY(number<int64_t>());
    if (dim < -1)
      return Unexpected(malformedMessage("dimension ", dim));
  }
  value.composite = TREADLE_TRY(name());
  value.compositeKind = TREADLE_TRY(name());
  return value;
}

} // namespace treadle::sandbox
