// AsString: numbers to strings, in printf's formats.
#include "treadle/kernels/Element.h"
#include "treadle/runtime/PlainLocale.h"

#include <cstdio>
#include <type_traits>

namespace treadle {
namespace {

// The format of an element: flag and width; for numbers also precision and conversion.
struct Format {
  std::string prefix; // `%05`
  std::string number; // `%05.2f`, or `%05lld`
};

template <typename Value> std::string print(const std::string &format, Value value) {
  char buffer[512]; // enough for any double with moderate width and precision
  int length = std::snprintf(buffer, sizeof buffer, format.c_str(), value);
  if (length < static_cast<int>(sizeof buffer))
    return buffer;
  std::string text(static_cast<size_t>(length) + 1, '\0');
  std::snprintf(text.data(), text.size(), format.c_str(), value);
  text.pop_back();
  return text;
}

template <typename T> std::string formatElement(const Format &format, const T &value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_same_v<T, std::string>)
    return format.prefix == "%" ? value : print(format.prefix + "s", value.c_str());
  else if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
    return str("(", print(format.number, static_cast<double>(value.real())), ",",
               print(format.number, static_cast<double>(value.imag())), ")");
  else if constexpr (std::is_unsigned_v<T>)
    return print(format.number, static_cast<unsigned long long>(value));
  else if constexpr (std::is_integral_v<T>)
    return print(format.number, static_cast<long long>(value));
  else
    return print(format.number, static_cast<double>(value));
}

template <typename T> struct AsString {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    Tensor *out = ctx.allocateOutput(0, DType::String, in.dims());
    PlainLocale locale;
    for (int64_t i = 0; out && i < in.count(); ++i)
      out->data<std::string>()[i] = formatElement(ctx.state<Format>(), in.data<T>()[i]);
  }
};

bool isAmong(DType dtype, auto types) {
  return visitType(dtype, types, []<typename T>() {});
}

Expected<Format> readFormat(const BindContext &node) {
  DType dtype = node.inputTypes[0];
  int64_t precision = node.attrs.getOr<int64_t>("precision", -1);
  int64_t width = node.attrs.getOr<int64_t>("width", -1);
  bool scientific = node.attrs.getOr("scientific", false);
  bool shortest = node.attrs.getOr("shortest", false);
  std::string fill = node.attrs.getOr("fill", std::string());
  bool isWhole = isAmong(dtype, IntegerTypes()), isBool = dtype == DType::Bool;
  if (scientific && shortest)
    return Unexpected(invalidArgument("scientific and shortest can't both be true"));
  if ((isWhole || isBool) && (scientific || shortest || precision >= 0))
    return Unexpected(invalidArgument("precision, scientific and shortest are for floating-point "
                                      "numbers, not for ",
                                      dtypeName(dtype)));
  if (fill.size() > 1 || fill.find_first_not_of(" +-0#") != std::string::npos)
    return Unexpected(invalidArgument("fill is '", fill, "', expected one of ' ', +, -, 0, #"));
  Format format{"%" + fill, {}};
  if (width > -1)
    format.prefix += std::to_string(width);
  format.number = format.prefix;
  if (precision > -1)
    format.number += "." + std::to_string(precision);
  if (isWhole)
    format.number += isAmong(dtype, UnsignedTypes()) ? "llu" : "lld";
  else
    format.number += scientific ? 'e' : shortest ? 'g' : 'f';
  return format;
}

Expected<BoundKernel> bindAsString(const BindContext &node) {
  return readFormat(node).and_then([&](Format format) {
    return bindByType<AsString, Join<PlainTypes, TypeList<std::string>>>(node).map(
        [&](BoundKernel bound) { return boundWith(bound.fn, std::move(format)); });
  });
}

const KernelEntry asStringTable[] = {
    {"AsString", bindAsString},
};

} // namespace

std::span<const KernelEntry> asStringKernels() { return asStringTable; }

} // namespace treadle
