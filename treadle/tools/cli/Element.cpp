// Elements by dtype. Small floating-point types are decoded by their layout, so that one table
// covers all.
#include "treadle/tools/cli/Element.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace treadle::cli {
namespace {

/// The layout of a small floating-point type.
struct SmallFloat {
  int mantissaBits, exponentBits, bias;
  enum Specials : uint8_t { Ieee, MaxIsNan, MinusZeroIsNan } specials;
};

const SmallFloat *smallFloat(DType dtype) {
  static constexpr SmallFloat half{10, 5, 15, SmallFloat::Ieee}, brain{7, 8, 127, SmallFloat::Ieee},
      e5m2{2, 5, 15, SmallFloat::Ieee}, e4m3fn{3, 4, 7, SmallFloat::MaxIsNan},
      e4m3fnuz{3, 4, 8, SmallFloat::MinusZeroIsNan}, e4m3b11{3, 4, 11, SmallFloat::MinusZeroIsNan},
      e5m2fnuz{2, 5, 16, SmallFloat::MinusZeroIsNan};
  switch (dtype) {
  case DType::Float16:
    return &half;
  case DType::BFloat16:
    return &brain;
  case DType::Float8E5M2:
    return &e5m2;
  case DType::Float8E4M3FN:
    return &e4m3fn;
  case DType::Float8E4M3FNUZ:
    return &e4m3fnuz;
  case DType::Float8E4M3B11FNUZ:
    return &e4m3b11;
  case DType::Float8E5M2FNUZ:
    return &e5m2fnuz;
  default:
    return nullptr;
  }
}

double decode(const SmallFloat &f, unsigned bits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  unsigned signBit = 1u << (f.mantissaBits + f.exponentBits);
  unsigned exponentMax = (1u << f.exponentBits) - 1, mantissaMax = (1u << f.mantissaBits) - 1;
  unsigned exponent = (bits >> f.mantissaBits) & exponentMax, mantissa = bits & mantissaMax;
  double sign = bits & signBit ? -1 : 1;
  if (f.specials == SmallFloat::MinusZeroIsNan && bits == signBit)
    return nan;
  if (f.specials == SmallFloat::MaxIsNan && exponent == exponentMax && mantissa == mantissaMax)
    return nan;
  if (f.specials == SmallFloat::Ieee && exponent == exponentMax)
    return mantissa ? nan : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * std::ldexp(mantissa, 1 - f.bias - f.mantissaBits);
  return sign * std::ldexp(mantissa + mantissaMax + 1.0,
                           static_cast<int>(exponent) - f.bias - f.mantissaBits);
}

/// Returns the encoding of the nearest value, ties to even, by bisection: magnitudes increase with
/// their bits.
unsigned encode(const SmallFloat &f, double value) {
  unsigned signBit = 1u << (f.mantissaBits + f.exponentBits);
  unsigned sign = std::signbit(value) ? signBit : 0;
  unsigned infinity = ((1u << f.exponentBits) - 1) << f.mantissaBits;
  if (std::isnan(value))
    return f.specials == SmallFloat::MinusZeroIsNan ? signBit
           : f.specials == SmallFloat::MaxIsNan     ? signBit - 1
                                                    : infinity | (1u << (f.mantissaBits - 1));
  unsigned top = f.specials == SmallFloat::Ieee       ? infinity - 1
                 : f.specials == SmallFloat::MaxIsNan ? signBit - 2
                                                      : signBit - 1;
  double magnitude = std::fabs(value);
  // For types without infinity, TensorFlow's casts return NaN beyond the largest value.
  double topStep = decode(f, top) - decode(f, top - 1);
  if (magnitude >= decode(f, top) + topStep / 2)
    return f.specials == SmallFloat::Ieee ? sign | infinity : encode(f, std::nan(""));
  unsigned low = 0, high = top;
  while (low < high) {
    unsigned middle = (low + high + 1) / 2;
    (decode(f, middle) <= magnitude ? low : high) =
        decode(f, middle) <= magnitude ? middle : middle - 1;
  }
  if (low < top) {
    double below = magnitude - decode(f, low), above = decode(f, low + 1) - magnitude;
    if (above < below || (above == below && (low & 1)))
      ++low;
  }
  return low == 0 && f.specials == SmallFloat::MinusZeroIsNan ? 0 : sign | low;
}

unsigned bitsOf(const Tensor &t, int64_t i) {
  return dtypeSize(t.dtype()) == 2 ? t.data<uint16_t>()[i] : t.data<uint8_t>()[i];
}

/// Calls `fn` with a value of the C++ type that holds an integer (or bool) dtype.
template <typename Fn> auto withIntegerType(DType dtype, Fn fn) {
  switch (dtype) {
  case DType::Bool:
    return fn(bool());
  case DType::Int8:
  case DType::QInt8:
  case DType::Int4:
  case DType::Int2:
    return fn(int8_t());
  case DType::UInt8:
  case DType::QUInt8:
  case DType::UInt4:
  case DType::UInt2:
    return fn(uint8_t());
  case DType::Int16:
  case DType::QInt16:
    return fn(int16_t());
  case DType::UInt16:
  case DType::QUInt16:
    return fn(uint16_t());
  case DType::Int32:
  case DType::QInt32:
    return fn(int32_t());
  case DType::UInt32:
    return fn(uint32_t());
  case DType::UInt64:
    return fn(uint64_t());
  default:
    return fn(int64_t());
  }
}

struct Range {
  __int128 least, most;
};

Range rangeOf(DType dtype) {
  switch (dtype) {
  case DType::Int4:
    return {-8, 7};
  case DType::UInt4:
    return {0, 15};
  case DType::Int2:
    return {-2, 1};
  case DType::UInt2:
    return {0, 3};
  default:
    return withIntegerType(dtype, [](auto zero) -> Range {
      using Limits = std::numeric_limits<decltype(zero)>;
      return {Limits::min(), Limits::max()};
    });
  }
}

} // namespace

std::complex<double> toComplex(const Tensor &t, int64_t i) {
  if (t.dtype() == DType::Complex64)
    return std::complex<double>(t.data<std::complex<float>>()[i]);
  if (t.dtype() == DType::Complex128)
    return t.data<std::complex<double>>()[i];
  return toDouble(t, i);
}

double toDouble(const Tensor &t, int64_t i) {
  if (const SmallFloat *layout = smallFloat(t.dtype()))
    return decode(*layout, bitsOf(t, i));
  switch (t.dtype()) {
  case DType::Float32:
    return t.data<float>()[i];
  case DType::Float64:
    return t.data<double>()[i];
  case DType::Complex64:
    return t.data<std::complex<float>>()[i].real();
  case DType::Complex128:
    return t.data<std::complex<double>>()[i].real();
  default:
    return withIntegerType(
        t.dtype(), [&](auto zero) { return static_cast<double>(t.data<decltype(zero)>()[i]); });
  }
}

void storeFloating(Tensor &t, int64_t i, std::complex<double> value) {
  if (const SmallFloat *layout = smallFloat(t.dtype())) {
    unsigned bits = encode(*layout, value.real());
    if (dtypeSize(t.dtype()) == 2)
      t.data<uint16_t>()[i] = static_cast<uint16_t>(bits);
    else
      t.data<uint8_t>()[i] = static_cast<uint8_t>(bits);
    return;
  }
  switch (t.dtype()) {
  case DType::Float32:
    t.data<float>()[i] = static_cast<float>(value.real());
    break;
  case DType::Complex64:
    t.data<std::complex<float>>()[i] = std::complex<float>(value);
    break;
  case DType::Complex128:
    t.data<std::complex<double>>()[i] = value;
    break;
  default:
    t.data<double>()[i] = value.real();
  }
}

bool storeInteger(Tensor &t, int64_t i, __int128 value) {
  Range range = rangeOf(t.dtype());
  if (value < range.least || value > range.most)
    return false;
  withIntegerType(t.dtype(), [&](auto zero) {
    t.data<decltype(zero)>()[i] = static_cast<decltype(zero)>(value);
  });
  return true;
}

/// Formats the shortest digits that read back as the same value in Python's layout: with an
/// exponent from 1e16 on and below 1e-4, and with `.0` if the text would look like an integer.
template <typename T> static std::string floatText(T value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  double magnitude = std::fabs(static_cast<double>(value));
  bool isScientific = magnitude != 0 && (magnitude >= 1e16 || magnitude < 1e-4);
  char text[64];
  auto format = isScientific ? std::chars_format::scientific : std::chars_format::fixed;
  char *end = std::to_chars(text, text + sizeof text, value, format).ptr;
  std::string out(text, end);
  return isScientific || out.find('.') != out.npos ? out : out + ".0";
}

/// Formats the fewest digits that distinguish the value of a small type from its neighbours.
static std::string smallFloatText(const SmallFloat &layout, unsigned bits) {
  double value = decode(layout, bits);
  if (!std::isfinite(value))
    return floatText(value);
  for (int digits = 1; digits < 17; ++digits) {
    char text[48];
    char *end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::general, digits).ptr;
    double shorter = 0;
    std::from_chars(text, end, shorter);
    if (decode(layout, encode(layout, shorter)) == value)
      return floatText(shorter);
  }
  return floatText(value);
}

static std::string bytesText(const std::string &bytes) {
  char quote = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos ? '"' : '\'';
  std::string out = {'b', quote};
  for (char c : bytes) {
    static constexpr char hex[] = "0123456789abcdef";
    auto code = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\\' || c == quote)
      out += {'\\', c};
    else if (code < 32 || code > 126)
      out += {'\\', 'x', hex[code >> 4], hex[code & 15]};
    else
      out += c;
  }
  return out + quote;
}

/// Formats `(1+2j)`, without `.0` in either part, as Python prints complex numbers.
static std::string complexText(std::string real, std::string imaginary) {
  for (std::string *part : {&real, &imaginary})
    if (part->ends_with(".0"))
      part->resize(part->size() - 2);
  if (imaginary[0] != '-')
    imaginary = "+" + imaginary;
  return "(" + real + imaginary + "j)";
}

std::string elementText(const Tensor &t, int64_t i) {
  if (const SmallFloat *layout = smallFloat(t.dtype()))
    return smallFloatText(*layout, bitsOf(t, i));
  switch (t.dtype()) {
  case DType::Float32:
    return floatText(t.data<float>()[i]);
  case DType::Float64:
    return floatText(t.data<double>()[i]);
  case DType::Bool:
    return t.data<bool>()[i] ? "True" : "False";
  case DType::String:
    return bytesText(t.data<std::string>()[i]);
  case DType::Resource:
    return "<resource>";
  case DType::Variant:
    return "<variant>";
  case DType::Complex64: {
    std::complex<float> z = t.data<std::complex<float>>()[i];
    return complexText(floatText(z.real()), floatText(z.imag()));
  }
  case DType::Complex128: {
    std::complex<double> z = t.data<std::complex<double>>()[i];
    return complexText(floatText(z.real()), floatText(z.imag()));
  }
  default:
    return withIntegerType(t.dtype(), [&](auto zero) -> std::string {
      return std::to_string(t.data<decltype(zero)>()[i]);
    });
  }
}

static void appendValues(const Tensor &t, int axis, int64_t offset, bool isSummary,
                         std::string &out) {
  if (axis == t.rank()) {
    out += elementText(t, offset);
    return;
  }
  constexpr int64_t edge = 3;
  int64_t size = t.dim(axis), stride = 1;
  for (int d = axis + 1; d < t.rank(); ++d)
    stride *= t.dim(d);
  out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i)
      out += ' ';
    if (isSummary && size > 2 * edge && i == edge) {
      out += "... ";
      i = size - edge;
    }
    appendValues(t, axis + 1, offset + i * stride, isSummary, out);
  }
  out += ']';
}

std::string valuesText(const Tensor &t) {
  if (t.rank() && t.count() == 0)
    return "[]";
  std::string out;
  appendValues(t, 0, 0, t.count() > 1000, out);
  return out;
}

} // namespace treadle::cli
