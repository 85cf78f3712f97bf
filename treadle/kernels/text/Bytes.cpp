// Strings as bytes: serialized tensors, raw elements, base 64 and compression.
#include "treadle/kernels/Compression.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/SerializedTensor.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace treadle {
namespace {

// --- serialized tensors ------------------------------------------------------------------------

void parseTensor(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  DType dtype = ctx.state<DType>();
  if (!in.isScalar())
    return ctx.fail(invalidArgument("serialized must be a scalar, but it is ", tensorTypeText(in)));
  auto out = TREADLE_OR_RETURN(ctx.check(parseTensorProto(in.scalarValue<std::string>())));
  if (out.dtype() != dtype)
    return ctx.fail(invalidArgument("the serialized tensor is ", dtypeName(out.dtype()),
                                    ", expected ", dtypeName(dtype)));
  ctx.setOutput(0, std::move(out));
}

Expected<BoundKernel> bindParseTensor(const BindContext &node) {
  return boundWith(parseTensor, node.outputTypes[0]);
}

void serializeTensor(OpContext &ctx) {
  ctx.setOutput(0,
                Tensor::scalarString(serializeTensorProto(ctx.input(0), StringEncoding::Listed)));
}

Expected<BoundKernel> bindSerializeTensor(const BindContext &node) {
  DType dtype = node.inputTypes[0];
  if (!isPlain(dtype) && dtype != DType::String)
    return unsupportedDType(node, dtype);
  return bindPlain<serializeTensor>(node);
}

// --- raw elements ------------------------------------------------------------------------------

struct RawState {
  DType dtype;
  bool isSwapped; // big-endian
};

// The two parts of a complex number are swapped separately.
void swapBytes(DType dtype, char *bytes, int64_t size) {
  auto width = static_cast<int64_t>(dtypeSize(dtype)) / (isComplex(dtype) ? 2 : 1);
  for (int64_t i = 0; i < size; i += width)
    std::reverse(bytes + i, bytes + i + width);
}

// Interprets each string's first `width` bytes, zero-padded, as elements.
void decodeBytes(OpContext &ctx, int64_t width) {
  const auto &state = ctx.state<RawState>();
  const Tensor &in = ctx.input(0);
  DimVector dims = in.dims();
  dims.push(width / static_cast<int64_t>(dtypeSize(state.dtype)));
  Tensor *out = ctx.allocateOutput(0, state.dtype, dims);
  if (!out || !out->count())
    return;
  auto *to = static_cast<char *>(out->raw());
  std::memset(to, 0, out->bytes());
  for (int64_t i = 0; i < in.count(); ++i) {
    const std::string &text = in.data<std::string>()[i];
    text.copy(to + i * width, static_cast<size_t>(width));
  }
  auto size = static_cast<int64_t>(out->bytes());
  if (state.isSwapped)
    swapBytes(state.dtype, to, size);
  if (state.dtype == DType::Bool) // only 0 and 1 are valid bools
    std::transform(to, to + size, to, [](char c) { return static_cast<char>(c != 0); });
}

void decodeRaw(OpContext &ctx) {
  DType dtype = ctx.state<RawState>().dtype;
  auto texts = ctx.input(0).values<std::string>();
  size_t size = texts.empty() ? 0 : texts[0].size();
  for (size_t i = 1; i < texts.size(); ++i)
    if (texts[i].size() != size)
      return ctx.fail(invalidArgument("string ", i, " has ", texts[i].size(), " bytes, but the ",
                                      "first has ", size, "; expected strings of one size"));
  if (size % dtypeSize(dtype))
    return ctx.fail(invalidArgument("the strings have ", size, " bytes, expected a multiple of ",
                                    dtypeSize(dtype), ", the size of ", dtypeName(dtype)));
  decodeBytes(ctx, static_cast<int64_t>(size));
}

void decodePaddedRaw(OpContext &ctx) {
  DType dtype = ctx.state<RawState>().dtype;
  const Tensor &length = ctx.input(1);
  int64_t size = length.isScalar() ? length.scalarValue<int32_t>() : 0;
  if (size <= 0 || size % static_cast<int64_t>(dtypeSize(dtype)))
    return ctx.fail(invalidArgument(
        "fixed_length is ", length.isScalar() ? std::to_string(size) : tensorTypeText(length),
        ", expected a positive multiple of ", dtypeSize(dtype), ", the size of ",
        dtypeName(dtype)));
  decodeBytes(ctx, size);
}

template <KernelFn fn> Expected<BoundKernel> bindRaw(const BindContext &node) {
  DType dtype = node.outputTypes[0];
  if (!visitType(dtype, PlainTypes(), []<typename T>() {}))
    return unsupportedDType(node, dtype);
  return boundWith(fn, RawState{dtype, !node.attrs.getOr("little_endian", true)});
}

// --- base 64 -----------------------------------------------------------------------------------

constexpr std::string_view base64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"; // URL-safe

std::string toBase64(std::string_view bytes, bool isPadded) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    std::string_view part = bytes.substr(i, 3);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < part.size() ? static_cast<unsigned char>(part[k]) : 0);
    for (size_t k = 0; k <= part.size(); ++k)
      out += base64Digits[word >> (18 - 6 * k) & 63];
    if (isPadded)
      out.append(3 - part.size(), '=');
  }
  return out;
}

bool fromBase64(std::string_view text, std::string &out) {
  static const auto values = [] {
    std::array<int8_t, 256> table;
    table.fill(-1);
    for (size_t i = 0; i < base64Digits.size(); ++i)
      table[static_cast<unsigned char>(base64Digits[i])] = static_cast<int8_t>(i);
    return table;
  }();
  if (text.size() % 4 == 0)
    for (int i = 0; i < 2 && text.ends_with('='); ++i)
      text.remove_suffix(1);
  if (text.size() % 4 == 1)
    return false;
  uint32_t word = 0;
  int bits = 0;
  for (char c : text) {
    int value = values[static_cast<unsigned char>(c)];
    if (value < 0)
      return false;
    word = word << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(word >> bits);
    }
  }
  return true;
}

void encodeBase64(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor *out = ctx.allocateOutput(0, DType::String, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i)
    out->data<std::string>()[i] = toBase64(in.data<std::string>()[i], ctx.state<bool>());
}

Expected<BoundKernel> bindEncodeBase64(const BindContext &node) {
  return boundWith(encodeBase64, node.attrs.getOr("pad", false));
}

void decodeBase64(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor *out = ctx.allocateOutput(0, DType::String, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i)
    if (!fromBase64(in.data<std::string>()[i], out->data<std::string>()[i]))
      return ctx.fail(invalidArgument("string ", i, " is not valid web-safe base64"));
}

// --- compressed data ---------------------------------------------------------------------------

struct Inflater {
  z_stream stream{};
  bool isOpen;
  explicit Inflater(int windowBits) : isOpen(inflateInit2(&stream, windowBits) == Z_OK) {}
  ~Inflater() {
    if (isOpen)
      inflateEnd(&stream);
  }
};

// The window bits for zlib: 15, plus 16 for gzip; 0: no compression.
struct Compression {
  std::string_view name;
  int windowBits;
};
const Compression compressions[] = {{"", 0}, {"ZLIB", 15}, {"GZIP", 15 + 16}};

} // namespace

std::optional<int> windowBitsOf(std::string_view compressionType) {
  auto row = std::ranges::find(compressions, compressionType, &Compression::name);
  return row == std::end(compressions) ? std::nullopt : std::optional(row->windowBits);
}

bool inflateAll(std::string_view bytes, int windowBits, std::string &out) {
  Inflater inflater(windowBits);
  z_stream &stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int status = inflater.isOpen ? Z_OK : Z_MEM_ERROR;
  char buffer[1 << 15];
  while (status == Z_OK && stream.avail_in) {
    do {
      stream.next_out = reinterpret_cast<Bytef *>(buffer);
      stream.avail_out = sizeof buffer;
      status = inflate(&stream, Z_NO_FLUSH);
      out.append(buffer, sizeof buffer - stream.avail_out);
    } while (status == Z_OK && stream.avail_out == 0);
    if (status == Z_STREAM_END && stream.avail_in) // the next of several concatenated streams
      status = inflateReset(&stream);
  }
  return status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR;
}

namespace {

void decodeCompressed(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  int windowBits = ctx.state<int>();
  if (!windowBits)
    return ctx.setOutput(0, ctx.takeInput(0));
  Tensor *out = ctx.allocateOutput(0, DType::String, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i)
    if (!inflateAll(in.data<std::string>()[i], windowBits, out->data<std::string>()[i]))
      return ctx.fail(dataLoss("string ", i, " is not compressed as compression_type specifies"));
}

Expected<BoundKernel> bindDecodeCompressed(const BindContext &node) {
  auto name = node.attrs.getOr("compression_type", std::string());
  auto windowBits = windowBitsOf(name);
  if (!windowBits)
    return Unexpected(
        invalidArgument("compression_type is '", name, "', expected ZLIB, GZIP or ''"));
  return boundWith(decodeCompressed, *windowBits);
}

const KernelEntry bytesTable[] = {
    {"DecodeBase64", bindPlain<decodeBase64>},
    {"DecodeCompressed", bindDecodeCompressed},
    {"DecodePaddedRaw", bindRaw<decodePaddedRaw>},
    {"DecodeRaw", bindRaw<decodeRaw>},
    {"EncodeBase64", bindEncodeBase64},
    {"ParseTensor", bindParseTensor},
    {"SerializeTensor", bindSerializeTensor},
};

} // namespace

std::span<const KernelEntry> bytesKernels() { return bytesTable; }

} // namespace treadle
