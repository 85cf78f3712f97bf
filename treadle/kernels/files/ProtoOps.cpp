// DecodeProtoV2 and EncodeProto: fields of protobuf messages to tensors, and back.
#include "treadle/checkpoint/Files.h"
#include "treadle/kernels/Element.h"
#include "treadle/kernels/RunFileAccess.h"
#include "treadle/kernels/files/Families.h"
#include "treadle/kernels/files/ProtoDescriptors.h"
#include "treadle/kernels/text/StringNumbers.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <numeric>

namespace treadle {
namespace {

// --- single values -------------------------------------------------------------------------------

/// Returns the dtypes that can hold a field's values.
std::span<const DType> dtypesOf(ProtoType type) {
  using enum DType;
  static constexpr DType f64[] = {Float64}, f32[] = {Float32, Float64}, i64[] = {Int64},
                         u64[] = {UInt64}, i32[] = {Int32, Int64}, u32[] = {UInt32, UInt64},
                         i1[] = {Bool}, enumeration[] = {Int32}, text[] = {String};
  switch (type) {
  case ProtoType::Double:
    return f64;
  case ProtoType::Float:
    return f32;
  case ProtoType::Int64:
  case ProtoType::SFixed64:
  case ProtoType::SInt64:
    return i64;
  case ProtoType::UInt64:
  case ProtoType::Fixed64:
    return u64;
  case ProtoType::Int32:
  case ProtoType::SFixed32:
  case ProtoType::SInt32:
    return i32;
  case ProtoType::UInt32:
  case ProtoType::Fixed32:
    return u32;
  case ProtoType::Bool:
    return i1;
  case ProtoType::Enum:
    return enumeration;
  default:
    return text;
  }
}

bool isReal(ProtoType type) { return type == ProtoType::Double || type == ProtoType::Float; }

double decodeFloat(ProtoType type, uint64_t encoded) {
  return type == ProtoType::Double ? std::bit_cast<double>(encoded)
                                   : std::bit_cast<float>(static_cast<uint32_t>(encoded));
}

uint64_t encodedReal(ProtoType type, double value) {
  return type == ProtoType::Double ? std::bit_cast<uint64_t>(value)
                                   : std::bit_cast<uint32_t>(static_cast<float>(value));
}

/// Decodes an integer; results for unsigned types must be read as unsigned.
int64_t decodeInteger(ProtoType type, uint64_t encoded) {
  auto unzigzagged = [](auto x) { return (x >> 1) ^ (0 - (x & 1)); };
  auto low = static_cast<uint32_t>(encoded);
  switch (type) {
  case ProtoType::SInt32:
    return static_cast<int32_t>(unzigzagged(low));
  case ProtoType::SInt64:
    return static_cast<int64_t>(unzigzagged(encoded));
  case ProtoType::Int32:
  case ProtoType::Enum:
  case ProtoType::SFixed32:
    return static_cast<int32_t>(low);
  case ProtoType::UInt32:
  case ProtoType::Fixed32:
    return low;
  case ProtoType::Bool:
    return encoded != 0;
  default:
    return static_cast<int64_t>(encoded);
  }
}

uint64_t encodedInteger(ProtoType type, int64_t value) {
  auto bits = static_cast<uint64_t>(value);
  switch (type) {
  case ProtoType::SInt32: {
    auto low = static_cast<uint32_t>(bits);
    return low << 1 ^ (low >> 31 ? ~0u : 0u);
  }
  case ProtoType::SInt64:
    return bits << 1 ^ (bits >> 63 ? ~uint64_t{0} : 0);
  case ProtoType::Int32:
  case ProtoType::Enum:
    return static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)});
  case ProtoType::UInt32:
    return static_cast<uint32_t>(bits);
  default:
    return bits;
  }
}

/// Calls `visit` with the C++ type of a numeric dtype for a field.
template <typename Visit> void visitNumbers(DType dtype, Visit &&visit) {
  using Types = TypeList<float, double, int32_t, int64_t, uint32_t, uint64_t, bool>;
  visitType(dtype, Types(), visit);
}

void putEncoded(std::string &out, WireType wire, uint64_t encoded) {
  if (wire == WireType::Varint)
    putVarint(out, encoded);
  else if (wire == WireType::Fixed64)
    putFixed(out, encoded);
  else
    putFixed(out, static_cast<uint32_t>(encoded));
}

// --- attributes ----------------------------------------------------------------------------------

/// A requested field.
struct BoundField {
  ProtoField field;
  DType dtype = DType::Invalid;
  uint64_t defaultNumber = 0; // encoded
  std::string defaultBytes;

  bool isText() const { return dtype == DType::String; }
};

using BoundFields = std::vector<BoundField>;

/// Reverses C escapes: bytes that aren't plain are three octal digits.
std::string unescaped(std::string_view text) {
  constexpr std::string_view letters = "abfnrtv", meant = "\a\b\f\n\r\t\v";
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char c = text[++i];
    if (size_t letter = letters.find(c); letter != std::string_view::npos) {
      out += meant[letter];
    } else if (c >= '0' && c <= '7') {
      int value = 0;
      size_t end = std::min(text.size(), i + 3);
      for (; i < end && text[i] >= '0' && text[i] <= '7'; ++i)
        value = value * 8 + (text[i] - '0');
      --i;
      out += static_cast<char>(value);
    } else {
      out += c;
    }
  }
  return out;
}

int64_t enumDefault(const ProtoField &field, const ProtoDescriptors &descriptors) {
  auto found = descriptors.enums.find(field.typeName);
  if (found == descriptors.enums.end() || found->second.empty())
    return 0;
  auto value = std::ranges::find(found->second, field.defaultText, &ProtoEnum::value_type::first);
  return value == found->second.end() ? found->second.front().second : value->second;
}

void readDefault(BoundField &bound, const ProtoDescriptors &descriptors) {
  const ProtoField &field = bound.field;
  const std::string &text = field.defaultText;
  if (field.type == ProtoType::String)
    bound.defaultBytes = text;
  if (field.type == ProtoType::Bytes)
    bound.defaultBytes = unescaped(text);
  if (field.type == ProtoType::Enum)
    bound.defaultNumber = encodedInteger(field.type, enumDefault(field, descriptors));
  if (field.type == ProtoType::Bool)
    bound.defaultNumber = text == "true";
  if (text.empty() || bound.isText() || bound.dtype == DType::Bool || field.type == ProtoType::Enum)
    return;
  double real = 0;
  int64_t integer = 0;
  uint64_t natural = 0;
  if (isReal(field.type) && parseNumber(text, real))
    bound.defaultNumber = encodedReal(field.type, real);
  else if (!isReal(field.type) && parseNumber(text, integer))
    bound.defaultNumber = encodedInteger(field.type, integer);
  else if (!isReal(field.type) && parseNumber(text, natural))
    bound.defaultNumber = natural;
}

/// The message type and its fields, which are looked up on first use.
struct ProtoState {
  std::string source, message;
  std::vector<std::string> names;
  std::vector<DType> dtypes;

  struct LazyFields {
    std::mutex mutex;
    std::shared_ptr<const BoundFields> fields; // null before the first use
  };
  std::shared_ptr<LazyFields> made = std::make_shared<LazyFields>();

  Expected<std::shared_ptr<const BoundFields>> fields(const FileAccess &files) const;
  Expected<BoundFields> lookUp(const FileAccess &files) const;
};

Expected<ProtoDescriptors> readDescriptors(const std::string &source, const FileAccess &files) {
  constexpr std::string_view inPlace = "bytes://";
  if (source.empty() || source == "local://")
    return Unexpected(unimplemented("descriptor_source = ", source.empty() ? "''" : source,
                                    " refers to messages that are linked into TensorFlow; name a "
                                    "file with a FileDescriptorSet, or pass one after 'bytes://'"));
  std::string bytes = source.starts_with(inPlace) ? source.substr(inPlace.size())
                                                  : TREADLE_TRY(readWholeFile(source, files));
  std::optional<ProtoDescriptors> found = ProtoDescriptors::parse(bytes);
  if (!found)
    return Unexpected(invalidArgument("descriptor_source doesn't contain a FileDescriptorSet"));
  return std::move(*found);
}

Expected<BoundFields> ProtoState::lookUp(const FileAccess &files) const {
  ProtoDescriptors descriptors = TREADLE_TRY(readDescriptors(source, files));
  auto found = descriptors.messages.find(message);
  if (found == descriptors.messages.end())
    return Unexpected(invalidArgument("descriptor_source has no message '", message, "'"));
  BoundFields bound;
  for (size_t i = 0; i < names.size(); ++i) {
    const ProtoField *field = found->second.find(names[i]);
    if (!field)
      return Unexpected(invalidArgument("message '", message, "' has no field '", names[i], "'"));
    std::span<const DType> known = dtypesOf(field->type);
    if (std::ranges::find(known, dtypes[i]) == known.end())
      return Unexpected(invalidArgument("field '", names[i], "' of '", message,
                                        "' is requested as ", dtypeName(dtypes[i]), ", expected ",
                                        dtypeName(known.front())));
    bound.push_back({*field, dtypes[i], 0, {}});
    readDefault(bound.back(), descriptors);
  }
  return bound;
}

Expected<std::shared_ptr<const BoundFields>> ProtoState::fields(const FileAccess &files) const {
  std::lock_guard lock(made->mutex);
  if (!made->fields)
    made->fields = std::make_shared<const BoundFields>(TREADLE_TRY(lookUp(files)));
  return made->fields;
}

Expected<ProtoState> stateOf(const BindContext &node, std::span<const DType> dtypes) {
  ProtoState state{node.attrs.getOr("descriptor_source", std::string("local://")),
                   node.attrs.getOr("message_type", std::string()),
                   node.attrs.getOr("field_names", std::vector<std::string>()),
                   {dtypes.begin(), dtypes.end()}};
  if (state.names.size() != dtypes.size())
    return Unexpected(invalidArgument("field_names has ", state.names.size(),
                                      " names, but there are ", dtypes.size(), " tensors"));
  return state;
}

std::vector<int64_t> appendDim(Dims dims, int64_t last) {
  std::vector<int64_t> out(dims.begin(), dims.end());
  out.push_back(last);
  return out;
}

// --- DecodeProtoV2 -------------------------------------------------------------------------------

/// The values of one field in one message.
struct FieldValues {
  std::vector<uint64_t> numbers; // encoded
  std::vector<std::string_view> texts;

  int64_t size() const { return static_cast<int64_t>(numbers.size() + texts.size()); }
};

/// Appends a value. Numbers may be packed or not, whatever the field's declaration. Ignores values
/// of another wire type.
bool addValue(const BoundField &bound, const WireReader::Field &value, FieldValues &out) {
  WireType wire = wireTypeOf(bound.field.type);
  if (!bound.field.isRepeated)
    out = {};
  if (bound.isText()) {
    if (value.type == wire)
      out.texts.push_back(value.bytes);
    return true;
  }
  if (value.type != wire && !value.isBytes())
    return true;
  return forEachNumber(value, wire, [&](uint64_t number) { out.numbers.push_back(number); });
}

bool readMessage(std::string_view message, const BoundFields &fields, FieldValues *out) {
  WireReader reader(message);
  for (WireReader::Field value; !reader.isAtEnd();) {
    if (!reader.nextOrGroup(value))
      return false;
    for (size_t f = 0; f < fields.size(); ++f)
      if (fields[f].field.number == value.number && !addValue(fields[f], value, out[f]))
        return false;
  }
  return true;
}

/// Fills output elements; the values of consecutive messages are `step` apart.
void fillValues(const BoundField &bound, std::span<const FieldValues> values, size_t step,
                int64_t width, Tensor &out) {
  int64_t messages = out.count() / width;
  auto fill = [&](auto *to, const auto &converted) {
    for (int64_t m = 0; m < messages; ++m)
      for (int64_t i = 0; i < width; ++i)
        *to++ = converted(values[static_cast<size_t>(m) * step], static_cast<size_t>(i));
  };
  if (bound.isText())
    return fill(out.data<std::string>(), [&](const FieldValues &v, size_t i) {
      return i < v.texts.size() ? std::string(v.texts[i]) : bound.defaultBytes;
    });
  visitNumbers(bound.dtype, [&]<typename T>() {
    fill(out.data<T>(), [&](const FieldValues &v, size_t i) {
      uint64_t encoded = i < v.numbers.size() ? v.numbers[i] : bound.defaultNumber;
      return isReal(bound.field.type) ? static_cast<T>(decodeFloat(bound.field.type, encoded))
                                      : static_cast<T>(decodeInteger(bound.field.type, encoded));
    });
  });
}

void decode(OpContext &ctx) {
  auto fields = TREADLE_OR_RETURN(ctx.check(ctx.state<ProtoState>().fields(filesOf(ctx))));
  const Tensor &in = ctx.input(0);
  if (!in.count())
    return ctx.fail(invalidArgument("there must be at least one message"));
  size_t n = fields->size();
  std::vector<FieldValues> values(static_cast<size_t>(in.count()) * n);
  for (int64_t m = 0; m < in.count(); ++m)
    if (!readMessage(in.data<std::string>()[m], *fields,
                     values.data() + static_cast<size_t>(m) * n))
      return ctx.fail(dataLoss("element ", m, " of the input is not a message"));
  Tensor *sizes = TREADLE_OR_RETURN(
      ctx.allocateOutput(0, DType::Int32, appendDim(in.dims(), static_cast<int64_t>(n))));
  std::ranges::transform(values, sizes->data<int32_t>(),
                         [](const FieldValues &v) { return static_cast<int32_t>(v.size()); });
  for (size_t f = 0; f < n; ++f) {
    int64_t width = 1;
    for (size_t i = f; i < values.size(); i += n)
      width = std::max(width, values[i].size());
    const BoundField &bound = (*fields)[f];
    Tensor *out = TREADLE_OR_RETURN(
        ctx.allocateOutput(static_cast<int>(f) + 1, bound.dtype, appendDim(in.dims(), width)));
    fillValues(bound, std::span(values).subspan(f), n, width, *out);
  }
}

Expected<BoundKernel> bindDecode(const BindContext &node) {
  std::string format = node.attrs.getOr("message_format", std::string("binary"));
  if (format == "text")
    return Unexpected(unimplemented("op '", node.op, "' with message_format = text"));
  if (format != "binary")
    return Unexpected(
        invalidArgument("message_format is '", format, "', expected 'binary' or 'text'"));
  if (node.attrs.getOr("sanitize", false))
    return Unexpected(unimplemented("op '", node.op, "' with sanitize = true"));
  ProtoState state = TREADLE_TRY(stateOf(node, node.outputTypes.subspan(1)));
  return boundWith(decode, std::move(state));
}

// --- EncodeProto ---------------------------------------------------------------------------------

/// Returns the encoded numbers of a tensor.
std::vector<uint64_t> encodedNumbers(const BoundField &bound, const Tensor &t) {
  std::vector<uint64_t> out(static_cast<size_t>(t.count()));
  visitNumbers(bound.dtype, [&]<typename T>() {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = isReal(bound.field.type)
                   ? encodedReal(bound.field.type, static_cast<double>(t.data<T>()[i]))
                   : encodedInteger(bound.field.type, static_cast<int64_t>(t.data<T>()[i]));
  });
  return out;
}

void putTexts(std::string &out, const ProtoField &field, std::span<const std::string> values) {
  for (const std::string &value : values) {
    WireType wire = wireTypeOf(field.type);
    putTag(out, field.number, wire);
    if (wire == WireType::Bytes)
      putVarint(out, value.size());
    out += value;
    if (wire == WireType::GroupBegin)
      putTag(out, field.number, WireType::GroupEnd);
  }
}

void putNumbers(std::string &out, const ProtoField &field, std::span<const uint64_t> values) {
  WireType wire = wireTypeOf(field.type);
  if (!field.isPacked) {
    for (uint64_t value : values) {
      putTag(out, field.number, wire);
      putEncoded(out, wire, value);
    }
    return;
  }
  std::string packed;
  for (uint64_t value : values)
    putEncoded(packed, wire, value);
  putBytes(out, field.number, packed);
}

/// Fails the op unless all tensors have the same batch shape.
bool checkShapes(OpContext &ctx) {
  const Tensor &first = ctx.input(1), &sizes = ctx.input(0);
  for (int i = 1; i < ctx.numInputs(); ++i) {
    Dims dims = ctx.input(i).dims();
    if (dims.size() < 2 ||
        !std::ranges::equal(dims.first(dims.size() - 1), first.dims().first(dims.size() - 1))) {
      ctx.fail(invalidArgument("input ", i, " has shape ", dimsText(dims),
                               ", expected one of rank 2 at least, with the messages of input 1, ",
                               dimsText(first.dims())));
      return false;
    }
  }
  auto wanted = appendDim(first.dims().first(first.dims().size() - 1), ctx.numInputs() - 1);
  if (std::ranges::equal(sizes.dims(), wanted))
    return true;
  ctx.fail(
      invalidArgument("sizes has shape ", dimsText(sizes.dims()), ", expected ", dimsText(wanted)));
  return false;
}

/// Appends a field to each message; returns false after failing the op.
bool addField(OpContext &ctx, const BoundField &bound, int input, std::span<std::string> out) {
  const Tensor &values = ctx.input(input), &sizes = ctx.input(0);
  int64_t width = values.dim(values.rank() - 1), fields = sizes.dim(sizes.rank() - 1);
  std::vector<uint64_t> numbers;
  if (!bound.isText())
    numbers = encodedNumbers(bound, values);
  for (size_t m = 0; m < out.size(); ++m) {
    int64_t size = sizes.data<int32_t>()[static_cast<int64_t>(m) * fields + input - 1];
    if (size > width) {
      ctx.fail(invalidArgument("sizes declares that message ", m, " has ", size, " values of '",
                               bound.field.name, "', but input ", input, " has ", width));
      return false;
    }
    if (size <= 0)
      continue;
    auto begin = m * static_cast<size_t>(width), count = static_cast<size_t>(size);
    if (bound.isText())
      putTexts(out[m], bound.field, values.values<std::string>().subspan(begin, count));
    else
      putNumbers(out[m], bound.field, std::span(numbers).subspan(begin, count));
  }
  return true;
}

void encode(OpContext &ctx) {
  auto fields = ctx.check(ctx.state<ProtoState>().fields(filesOf(ctx)));
  if (!fields || !checkShapes(ctx))
    return;
  Dims dims = ctx.input(0).dims();
  Tensor *out =
      TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::String, dims.first(dims.size() - 1)));
  std::vector<size_t> order((*fields)->size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t f) { return (**fields)[f].field.number; });
  std::span<std::string> messages(out->data<std::string>(), static_cast<size_t>(out->count()));
  for (size_t f : order)
    if (!addField(ctx, (**fields)[f], static_cast<int>(f) + 1, messages))
      return;
}

Expected<BoundKernel> bindEncode(const BindContext &node) {
  ProtoState state = TREADLE_TRY(stateOf(node, node.inputTypes.subspan(1)));
  if (state.names.empty())
    return Unexpected(invalidArgument("field_names is empty"));
  return boundWith(encode, std::move(state));
}

const KernelEntry protoTable[] = {
    {"DecodeProtoV2", bindDecode},
    {"EncodeProto", bindEncode},
};

} // namespace

std::span<const KernelEntry> protoKernels() { return protoTable; }

} // namespace treadle
