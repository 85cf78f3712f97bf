#include "treadle/kernels/SerializedTensor.h"

#include "treadle/kernels/Move.h"

namespace treadle {
namespace {

// Numbers of the fields of TensorProto, of its shape, and of a dimension.
constexpr uint64_t dtypeField = 1, shapeField = 2, versionField = 3, contentField = 4;
constexpr uint64_t dimField = 2, sizeField = 1;
enum Wire : uint64_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

// --- writing -----------------------------------------------------------------------------------

void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void putNumber(std::string &out, uint64_t field, uint64_t value) {
  putVarint(out, field << 3 | Varint);
  putVarint(out, value);
}

void putBytes(std::string &out, uint64_t field, std::string_view bytes) {
  putVarint(out, field << 3 | Bytes);
  putVarint(out, bytes.size());
  out += bytes;
}

std::string shapeBytes(Dims dims) {
  std::string shape;
  for (int64_t d : dims) {
    std::string dim;
    if (d) // a zero is not written
      putNumber(dim, sizeField, static_cast<uint64_t>(d));
    putBytes(shape, dimField, dim);
  }
  return shape;
}

// Strings: all lengths, then all texts.
std::string stringContent(const Tensor &tensor) {
  std::string content;
  for (const std::string &s : tensor.values<std::string>())
    putVarint(content, s.size());
  for (const std::string &s : tensor.values<std::string>())
    content += s;
  return content;
}

// --- reading -----------------------------------------------------------------------------------

class Reader {
public:
  explicit Reader(std::string_view bytes) : rest(bytes) {}
  bool isAtEnd() const { return rest.empty(); }
  bool isGood() const { return good; }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest.empty())
        break;
      auto byte = static_cast<unsigned char>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80)
        return value;
    }
    fail();
    return 0;
  }
  std::string_view bytes(uint64_t size) {
    if (size > rest.size()) {
      fail();
      return {};
    }
    std::string_view taken = rest.substr(0, size);
    rest.remove_prefix(size);
    return taken;
  }
  void skip(uint64_t wire) {
    if (wire == Varint)
      varint();
    else if (wire == Bytes)
      bytes(varint());
    else if (wire == Fixed32 || wire == Fixed64)
      bytes(wire == Fixed32 ? 4 : 8);
    else
      fail();
  }

private:
  void fail() {
    good = false;
    rest = {};
  }
  std::string_view rest;
  bool good = true;
};

// Calls `visit(field, wire, reader)` for each field; the visit reads or skips it. False: malformed.
template <typename Visit> bool readFields(std::string_view bytes, Visit &&visit) {
  Reader reader(bytes);
  while (!reader.isAtEnd()) {
    uint64_t tag = reader.varint();
    visit(tag >> 3, tag & 7, reader);
  }
  return reader.isGood();
}

bool readShape(std::string_view bytes, DimVector &dims) {
  bool isGood = true;
  return readFields(bytes,
                    [&](uint64_t field, uint64_t wire, Reader &reader) {
                      if (field != dimField || wire != Bytes)
                        return reader.skip(wire);
                      uint64_t size = 0;
                      isGood &= readFields(reader.bytes(reader.varint()),
                                           [&](uint64_t inner, uint64_t wire, Reader &reader) {
                                             if (inner == sizeField && wire == Varint)
                                               size = reader.varint();
                                             else
                                               reader.skip(wire);
                                           });
                      dims.push(static_cast<int64_t>(size));
                    }) &&
         isGood && dims.size() < 255;
}

struct Fields {
  DType dtype = DType::Invalid;
  DimVector dims;
  std::string_view content;
  bool hasListedValues = false;
  bool isGood = true;
};

Fields readTensorFields(std::string_view bytes) {
  Fields found;
  bool isGood = readFields(bytes, [&](uint64_t field, uint64_t wire, Reader &reader) {
    if (field == dtypeField && wire == Varint) {
      uint64_t number = reader.varint();
      found.dtype = number < numDTypes ? static_cast<DType>(number) : DType::Invalid;
    } else if (field == shapeField && wire == Bytes) {
      found.isGood &= readShape(reader.bytes(reader.varint()), found.dims);
    } else if (field == contentField && wire == Bytes) {
      found.content = reader.bytes(reader.varint());
    } else {
      found.hasListedValues |= field > versionField;
      reader.skip(wire);
    }
  });
  found.isGood &= isGood && found.dtype != DType::Invalid && found.dtype != DType::Resource &&
                  found.dtype != DType::Variant;
  return found;
}

bool readStrings(std::string_view content, Tensor &out) {
  Reader lengths(content);
  uint64_t total = 0;
  for (int64_t i = 0; i < out.count() && lengths.isGood(); ++i)
    if (__builtin_add_overflow(total, lengths.varint(), &total))
      return false;
  if (!lengths.isGood() || total > content.size())
    return false;
  Reader again(content), texts(content.substr(content.size() - total));
  for (std::string &s : std::span(out.data<std::string>(), static_cast<size_t>(out.count())))
    s = texts.bytes(again.varint());
  return texts.isGood();
}

Unexpected malformed() {
  return Unexpected(invalidArgument("the bytes are not a serialized tensor"));
}

} // namespace

std::string serializedTensor(const Tensor &tensor) {
  std::string out;
  putNumber(out, dtypeField, static_cast<uint64_t>(tensor.dtype()));
  putBytes(out, shapeField, shapeBytes(tensor.dims()));
  if (tensor.dtype() == DType::String)
    putBytes(out, contentField, stringContent(tensor));
  else if (isPlain(tensor.dtype()) && tensor.count())
    putBytes(out, contentField, {static_cast<const char *>(tensor.raw()), tensor.bytes()});
  return out;
}

Expected<Tensor> parsedTensor(std::string_view bytes) {
  Fields found = readTensorFields(bytes);
  if (!found.isGood)
    return malformed();
  auto count = countElements(found.dims);
  if (found.hasListedValues)
    return Unexpected(
        unimplemented("a serialized tensor whose elements are listed one by one can't be read"));
  // Never make room for more than the bytes can hold.
  if (!count || *count > static_cast<int64_t>(found.content.size()))
    return malformed();
  Expected<Tensor> out = Tensor::make(found.dtype, found.dims);
  if (!out)
    return out;
  if (found.dtype == DType::String)
    return readStrings(found.content, *out) ? std::move(out) : malformed();
  if (out->bytes() != found.content.size())
    return malformed();
  if (out->count())
    std::memcpy(out->raw(), found.content.data(), out->bytes());
  return out;
}

} // namespace treadle
