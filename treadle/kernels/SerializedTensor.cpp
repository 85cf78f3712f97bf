#include "treadle/kernels/SerializedTensor.h"

#include "treadle/checkpoint/ShapeMessages.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

// Field numbers of TensorProto.
constexpr uint64_t dtypeField = 1, shapeField = 2, contentField = 4;

// --- writing -----------------------------------------------------------------------------------

// The content of a string tensor: all lengths, then all strings.
std::string stringContent(const Tensor &tensor) {
  std::string content;
  for (const std::string &s : tensor.values<std::string>())
    putVarint(content, s.size());
  for (const std::string &s : tensor.values<std::string>())
    content += s;
  return content;
}

// The encoding of elements that are listed one by one: the field of a dtype, and the bytes per
// element (0: a varint). A complex number is two listed components.
struct Listed {
  DType dtype;
  uint64_t field;
  size_t width;
};
constexpr Listed listedElements[] = {
    {DType::Float32, 5, 4},   {DType::Float64, 6, 8},     {DType::Int32, 7, 0},
    {DType::Int16, 7, 0},     {DType::Int8, 7, 0},        {DType::UInt8, 7, 0},
    {DType::UInt16, 7, 0},    {DType::Complex64, 9, 4},   {DType::Int64, 10, 0},
    {DType::Bool, 11, 0},     {DType::Complex128, 12, 8}, {DType::Float16, 13, 0},
    {DType::BFloat16, 13, 0}, {DType::UInt32, 16, 0},     {DType::UInt64, 17, 0},
};
constexpr uint64_t textField = 8;

// Appends packed varints; signed numbers are sign-extended.
template <typename T> void putElements(const Tensor &tensor, std::string &packed) {
  for (T element : tensor.values<T>())
    if constexpr (std::is_signed_v<T>)
      putVarint(packed, static_cast<uint64_t>(int64_t{element}));
    else
      putVarint(packed, element);
}

void putVarints(const Tensor &tensor, std::string &packed) {
  bool isSigned = tensor.dtype() == DType::Int8 || tensor.dtype() == DType::Int16 ||
                  tensor.dtype() == DType::Int32 || tensor.dtype() == DType::Int64;
  switch (dtypeSize(tensor.dtype())) {
  case 1:
    return isSigned ? putElements<int8_t>(tensor, packed) : putElements<uint8_t>(tensor, packed);
  case 2:
    return isSigned ? putElements<int16_t>(tensor, packed) : putElements<uint16_t>(tensor, packed);
  case 4:
    return isSigned ? putElements<int32_t>(tensor, packed) : putElements<uint32_t>(tensor, packed);
  default:
    return isSigned ? putElements<int64_t>(tensor, packed) : putElements<uint64_t>(tensor, packed);
  }
}

// --- reading -----------------------------------------------------------------------------------

struct Fields {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  std::string_view content;
  std::vector<std::string_view> texts;
  std::string elements; // listed elements, in their layout in memory
  bool isGood = true;
};

// Reads one listed element, or many packed into one field.
bool readListed(const WireReader::Field &field, const Listed &listed, std::string &out) {
  WireType type = listed.width == 4   ? WireType::Fixed32
                  : listed.width == 8 ? WireType::Fixed64
                                      : WireType::Varint;
  size_t size = listed.width ? listed.width : dtypeSize(listed.dtype);
  return forEachNumber(field, type, [&](uint64_t value) {
    if (listed.dtype == DType::Bool)
      value = value != 0;
    // little-endian: the low bytes come first
    out.append(reinterpret_cast<const char *>(&value), size);
  });
}

// A first pass over the message, since elements may precede their dtype.
DType readDType(std::string_view bytes) {
  DType dtype = DType::Invalid;
  forEachField(bytes, [&](const WireReader::Field &field) {
    if (field.number == dtypeField && field.isVarint())
      dtype = field.value < numDTypes ? static_cast<DType>(field.value) : DType::Invalid;
    return true;
  });
  return dtype;
}

Fields readTensorFields(std::string_view bytes) {
  Fields found;
  found.dtype = readDType(bytes);
  auto listed = std::ranges::find(listedElements, found.dtype, &Listed::dtype);
  uint64_t listedField = listed == std::end(listedElements) ? 0 : listed->field;
  bool isGood = forEachField(bytes, [&](const WireReader::Field &field) {
    if (field.number == shapeField && field.isBytes())
      return readShape(field.bytes, found.dims) && found.dims.size() < 255;
    if (field.number == contentField && field.isBytes())
      found.content = field.bytes;
    else if (field.number == textField && field.isBytes() && found.dtype == DType::String)
      found.texts.push_back(field.bytes);
    else if (listedField && field.number == listedField)
      return readListed(field, *listed, found.elements);
    return true;
  });
  found.isGood = isGood && found.dtype != DType::Invalid && found.dtype != DType::Resource &&
                 found.dtype != DType::Variant;
  return found;
}

bool readStrings(std::string_view content, Tensor &out) {
  WireReader lengths(content);
  uint64_t total = 0;
  for (int64_t i = 0; i < out.count() && lengths.isGood(); ++i)
    if (__builtin_add_overflow(total, lengths.varint(), &total))
      return false;
  if (!lengths.isGood() || total > content.size())
    return false;
  WireReader again(content), texts(content.substr(content.size() - total));
  for (std::string &s : std::span(out.data<std::string>(), static_cast<size_t>(out.count())))
    s = texts.bytes(again.varint());
  return texts.isGood();
}

// The last listed element fills the rest of the tensor; without any, the tensor is zero.
bool fillFromListed(const Fields &found, Tensor &out) {
  if (out.dtype() == DType::String) {
    auto *texts = out.data<std::string>();
    auto count = std::min<int64_t>(out.count(), std::ssize(found.texts));
    std::copy_n(found.texts.begin(), count, texts);
    for (int64_t i = count; count && i < out.count(); ++i)
      texts[i] = texts[count - 1];
    return std::ssize(found.texts) <= out.count();
  }
  auto size = static_cast<int64_t>(dtypeSize(out.dtype()));
  int64_t count = std::ssize(found.elements) / size;
  if (count > out.count() || std::ssize(found.elements) % size)
    return false;
  zeroElements(out.dtype(), out.raw(), out.count());
  copyElements(out.dtype(), out.raw(), found.elements.data(), count);
  if (count && count < out.count())
    fillElements(out.dtype(), elementAt(out.dtype(), out.raw(), count),
                 elementAt(out.dtype(), out.raw(), count - 1), out.count() - count);
  return true;
}

Unexpected malformed() {
  return Unexpected(invalidArgument("the bytes are not a serialized tensor"));
}

} // namespace

std::string serializeTensorProto(const Tensor &tensor, StringEncoding place) {
  std::string out;
  putNumber(out, dtypeField, static_cast<uint64_t>(tensor.dtype()));
  putBytes(out, shapeField, shapeMessage(tensor.dims()));
  if (tensor.dtype() == DType::String && place == StringEncoding::Listed)
    for (const std::string &text : tensor.values<std::string>())
      putBytes(out, textField, text);
  else if (tensor.dtype() == DType::String)
    putBytes(out, contentField, stringContent(tensor));
  else if (isPlain(tensor.dtype()) && tensor.count())
    putBytes(out, contentField, {static_cast<const char *>(tensor.raw()), tensor.bytes()});
  return out;
}

std::string serializeElements(const Tensor &tensor) {
  std::string out, packed;
  if (tensor.dtype() == DType::String) {
    for (const std::string &text : tensor.values<std::string>())
      putBytes(out, textField, text);
    return out;
  }
  auto listed = std::ranges::find(listedElements, tensor.dtype(), &Listed::dtype);
  if (listed == std::end(listedElements) || !tensor.count())
    return out;
  if (listed->width)
    packed.assign(static_cast<const char *>(tensor.raw()), tensor.bytes());
  else
    putVarints(tensor, packed);
  putBytes(out, listed->field, packed);
  return out;
}

Expected<Tensor> parseTensorProto(std::string_view bytes) {
  Fields found = readTensorFields(bytes);
  if (!found.isGood)
    return malformed();
  auto count = countElements(found.dims);
  // Don't allocate more than the content can hold.
  bool hasContent = !found.content.empty();
  if (!count || (hasContent && *count > static_cast<int64_t>(found.content.size())))
    return malformed();
  Expected<Tensor> out = Tensor::make(found.dtype, found.dims);
  if (!out)
    return out;
  if (!hasContent)
    return fillFromListed(found, *out) ? std::move(out) : malformed();
  if (found.dtype == DType::String)
    return readStrings(found.content, *out) ? std::move(out) : malformed();
  if (out->bytes() != found.content.size())
    return malformed();
  if (out->count())
    std::memcpy(out->raw(), found.content.data(), out->bytes());
  return out;
}

} // namespace treadle
