// DecodeJSONExample: converts JSON to serialized tf.Example messages. The bytes equal those of
// protobuf's converter: fields in the order of the text, lists not packed.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/files/Json.h"
#include "treadle/tensor/Wire.h"

#include <charconv>
#include <cmath>
#include <set>

namespace treadle {
namespace {

using json::Value;
using Kind = Value::Kind;

// --- single values -----------------------------------------------------------------------------

Unexpected noValue(const Value &value, std::string_view what) {
  return Unexpected(
      invalidArgument("the JSON text has '", value.text, "' where ", what, " is expected"));
}

bool isNumeric(const Value &value) {
  return value.kind == Kind::Number || value.kind == Kind::String;
}

/// Returns nullopt unless the whole text is a number.
template <typename T> std::optional<T> parseWhole(const std::string &text) {
  T number;
  const char *end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// Accepts integers in exponent or decimal notation too: 1e3, 2.0.
Expected<int64_t> parseInteger(const Value &value) {
  if (isNumeric(value)) {
    if (auto whole = parseWhole<int64_t>(value.text))
      return *whole;
    auto real = parseWhole<double>(value.text);
    if (real && *real >= -0x1p63 && *real < 0x1p63 && *real == std::floor(*real))
      return static_cast<int64_t>(*real);
  }
  return noValue(value, "a 64-bit integer");
}

Expected<float> floatOf(const Value &value) {
  if (value.kind == Kind::String && value.text == "NaN")
    return std::numeric_limits<float>::quiet_NaN();
  if (value.kind == Kind::String && (value.text == "Infinity" || value.text == "-Infinity"))
    return std::copysign(std::numeric_limits<float>::infinity(), value.text[0] == '-' ? -1.f : 1.f);
  auto real = isNumeric(value) ? parseWhole<double>(value.text) : std::nullopt;
  if (!real || !std::isfinite(static_cast<float>(*real)))
    return noValue(value, "a 32-bit number");
  return static_cast<float>(*real);
}

/// Decodes base64 of either alphabet, with or without padding.
Expected<std::string> bytesOf(const Value &value) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (value.kind != Kind::String)
    return noValue(value, "base64");
  std::string_view text = value.text;
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    size_t digit = digits.find(c == '-' ? '+' : c == '_' ? '/' : c);
    if (digit == std::string_view::npos)
      return noValue(value, "base64");
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += static_cast<char>(bits >> count);
    }
  }
  if (text.size() % 4 == 1)
    return noValue(value, "base64");
  return out;
}

// --- messages ----------------------------------------------------------------------------------

/// A field, by its JSON name or its proto name.
struct Field {
  std::string_view name, plainName;
  uint32_t number;
};

Expected<const Field *> findField(std::span<const Field> fields, std::string_view name) {
  for (const Field &field : fields)
    if (field.name == name || field.plainName == name)
      return &field;
  return Unexpected(invalidArgument("the JSON text has a field '", name, "', expected '",
                                    fields.front().name, "'"));
}

/// Calls `write(field, value)` for each non-null member of an object, each once.
template <typename Write>
Expected<void> writeFields(const Value &object, std::span<const Field> fields, Write &&write) {
  if (object.kind != Kind::Object)
    return noValue(object, "an object");
  std::set<uint64_t> seen;
  for (size_t i = 0; i < object.items.size(); ++i) {
    const std::string &name = object.names[i];
    const Value &value = object.items[i];
    const Field *field = TREADLE_TRY(findField(fields, name));
    if (value.kind == Kind::Null)
      continue;
    if (!seen.insert(field->number).second)
      return Unexpected(invalidArgument("the JSON text has field '", name, "' twice"));
    TREADLE_TRY(write(*field, value));
  }
  return {};
}

enum ListField : uint64_t { BytesList = 1, FloatList = 2, Int64List = 3 };

Expected<void> writeElement(std::string &out, uint64_t list, const Value &value) {
  if (list == BytesList) {
    putBytes(out, 1, TREADLE_TRY(bytesOf(value)));
  } else if (list == Int64List) {
    putNumberAlways(out, 1, static_cast<uint64_t>(TREADLE_TRY(parseInteger(value))));
  } else {
    putTag(out, 1, WireType::Fixed32);
    putFixed(out, TREADLE_TRY(floatOf(value)));
  }
  return {};
}

/// Serializes a list, or a single value as a list.
Expected<std::string> listOf(const Value &object, uint64_t list) {
  constexpr Field fields[] = {{"value", "value", 1}};
  std::string out;
  TREADLE_TRY(writeFields(object, fields, [&](const Field &, const Value &value) -> Expected<void> {
    if (value.kind != Kind::List)
      return writeElement(out, list, value);
    for (const Value &item : value.items)
      TREADLE_TRY(writeElement(out, list, item));
    return {};
  }));
  return out;
}

Expected<std::string> featureOf(const Value &object) {
  constexpr Field fields[] = {{"bytesList", "bytes_list", BytesList},
                              {"floatList", "float_list", FloatList},
                              {"int64List", "int64_list", Int64List}};
  std::string out;
  TREADLE_TRY(
      writeFields(object, fields, [&](const Field &field, const Value &value) -> Expected<void> {
        if (!out.empty())
          return Unexpected(invalidArgument("a feature of the JSON text has two lists"));
        putBytes(out, field.number, TREADLE_TRY(listOf(value, field.number)));
        return {};
      }));
  return out;
}

/// Writes map entries: messages of a key and a value.
Expected<void> writeFeatures(std::string &out, const Value &map) {
  if (map.kind != Kind::Object)
    return noValue(map, "an object");
  std::set<std::string_view> seen;
  for (size_t i = 0; i < map.items.size(); ++i) {
    const std::string &name = map.names[i];
    if (!seen.insert(name).second)
      return Unexpected(invalidArgument("the JSON text has feature '", name, "' twice"));
    std::string entry;
    putBytes(entry, 1, name);
    putBytes(entry, 2, TREADLE_TRY(featureOf(map.items[i])));
    putBytes(out, 1, entry);
  }
  return {};
}

Expected<std::string> exampleOf(const Value &object) {
  constexpr Field ofExample[] = {{"features", "features", 1}};
  constexpr Field ofFeatures[] = {{"feature", "feature", 1}};
  std::string out;
  TREADLE_TRY(
      writeFields(object, ofExample, [&](const Field &, const Value &value) -> Expected<void> {
        std::string features;
        TREADLE_TRY(writeFields(value, ofFeatures, [&](const Field &, const Value &map) {
          return writeFeatures(features, map);
        }));
        putBytes(out, 1, features);
        return {};
      }));
  return out;
}

// --- op ----------------------------------------------------------------------------------------

void decodeJson(OpContext &ctx) {
  const Tensor in = ctx.input(0);
  Tensor *out = ctx.allocateOutput(0, DType::String, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i) {
    auto message =
        TREADLE_OR_RETURN(ctx.check(json::parse(in.data<std::string>()[i]).and_then(exampleOf)));
    out->data<std::string>()[i] = std::move(message);
  }
}

const KernelEntry exampleJsonTable[] = {
    {"DecodeJSONExample", bindPlain<decodeJson>},
};

} // namespace

std::span<const KernelEntry> exampleJsonKernels() { return exampleJsonTable; }

} // namespace treadle
