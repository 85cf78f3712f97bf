// Formatting of tensors: two layouts of formatted elements.
#include "treadle/kernels/text/TensorText.h"

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace treadle {
namespace {

// Formats with `digits` digits, or with `moreDigits` if the number wouldn't round-trip.
template <typename T> std::string formatRoundTrip(T value, int digits, int moreDigits) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  char buffer[40];
  auto write = [&](int precision) {
    return std::to_chars(buffer, std::end(buffer), value, std::chars_format::general, precision)
        .ptr;
  };
  char *end = write(digits);
  T again = 0; // unchanged if the text is out of T's range
  std::from_chars(buffer, end, again);
  if (again != value)
    end = write(moreDigits);
  return {buffer, end};
}

// Returns the integer dtype of a quantized dtype's storage.
DType storedAs(DType dtype) {
  switch (dtype) {
  case DType::QInt8:
  case DType::Int4:
  case DType::Int2:
    return DType::Int8;
  case DType::QUInt8:
  case DType::UInt4:
  case DType::UInt2:
    return DType::UInt8;
  case DType::QInt16:
    return DType::Int16;
  case DType::QUInt16:
    return DType::UInt16;
  default:
    return dtype;
  }
}

using ElementText = std::string (*)(const void *data, int64_t i, bool quoted);

template <typename T> std::string elementText(const void *data, int64_t i, bool quoted) {
  // A bool from a file may be neither 0 nor 1.
  using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
  const Stored &value = static_cast<const Stored *>(data)[i];
  if constexpr (std::is_same_v<T, bool>)
    return value ? "1" : "0";
  else if constexpr (std::is_same_v<T, std::string>)
    return quoted ? "\"" + value + "\"" : escaped(value);
  else if constexpr (std::is_same_v<T, double>)
    return numberText(value);
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(value);
  else
    return numberText(static_cast<float>(value));
}

// Returns null for dtypes whose elements aren't shown.
ElementText elementTextOf(DType dtype) {
  using Shown = Join<RealTypes, TypeList<bool, std::string>>;
  ElementText text = nullptr;
  visitType(storedAs(dtype), Shown(), [&]<typename T>() { text = elementText<T>; });
  return text;
}

std::string placeholderText(const Tensor &t, int64_t shown, bool bracketed) {
  const char *element = t.dtype() == DType::Variant    ? "<variant>"
                        : t.dtype() == DType::Resource ? "<resource>"
                                                       : "?";
  std::string out = bracketed ? "[" : "";
  for (int64_t i = 0; i < shown; ++i)
    out += str(i ? " " : "", element);
  if (shown < t.count())
    out += "...";
  return bracketed ? out + "]" : out;
}

class Nested {
public:
  Nested(const Tensor &t, ElementText text, int64_t limit) : t(t), text(text), limit(limit) {}
  std::string whole() {
    append(0, 0, t.count());
    return std::move(out);
  }

private:
  // Appends the dimensions from `d` on of the `count` elements from `start`.
  void append(int d, int64_t start, int64_t count) {
    if (d == t.rank()) {
      out += text(t.raw(), start, true);
      return;
    }
    int64_t n = t.dim(d), each = n ? count / n : 0;
    out += '[';
    for (int64_t i = 0; i < std::min(limit, n); ++i) {
      if (i)
        appendSpace(d);
      append(d + 1, start + i * each, each);
    }
    if (n > 2 * limit) {
      appendSpace(d);
      out += "...";
    }
    for (int64_t i = std::max(limit, n - limit); i < n; ++i) {
      appendSpace(d);
      append(d + 1, start + i * each, each);
    }
    out += ']';
  }

  void appendSpace(int d) {
    int inner = t.rank() - 1 - d;
    if (inner == 0) {
      out += ' ';
      return;
    }
    out.append(inner, '\n');
    out.append(d + 1, ' ');
  }

  const Tensor &t;
  ElementText text;
  int64_t limit;
  std::string out;
};

class Flat {
public:
  Flat(const Tensor &t, ElementText text, int64_t limit) : t(t), text(text), limit(limit) {}
  std::string whole() {
    append(0);
    if (t.count() > limit)
      out += "...";
    return std::move(out);
  }

private:
  void append(int d) {
    if (next >= limit)
      return;
    if (d == t.rank() - 1)
      return appendRow(d);
    for (int64_t i = 0; i < t.dim(d); ++i) {
      bool isOpen = next < limit;
      if (isOpen)
        out += '[';
      append(d + 1);
      if (isOpen || next < limit)
        out += ']';
    }
  }

  void appendRow(int d) {
    for (int64_t i = 0; i < t.dim(d); ++i) {
      if (next >= limit) {
        if (d)
          out += "...";
        return;
      }
      if (i)
        out += ' ';
      out += text(t.raw(), next++, false);
    }
  }

  const Tensor &t;
  ElementText text;
  int64_t limit, next = 0;
  std::string out;
};

} // namespace

std::string numberText(float value) { return formatRoundTrip(value, 6, 9); }
std::string numberText(double value) { return formatRoundTrip(value, 15, 17); }

std::string escaped(std::string_view text) {
  std::string out;
  for (unsigned char c : text) {
    switch (c) {
    case '\n':
      out += "\\n";
      continue;
    case '\r':
      out += "\\r";
      continue;
    case '\t':
      out += "\\t";
      continue;
    case '"':
    case '\'':
    case '\\':
      out += '\\';
      out += static_cast<char>(c);
      continue;
    default:
      break;
    }
    if (c >= 0x20 && c < 0x7f) {
      out += static_cast<char>(c);
      continue;
    }
    char buffer[8];
    std::snprintf(buffer, sizeof buffer, "\\%03o", c);
    out += buffer;
  }
  return out;
}

std::string nestedText(const Tensor &t, int64_t limit) {
  int64_t shown = limit < 0 ? t.count() : std::min(limit, t.count());
  ElementText text = elementTextOf(t.dtype());
  if (!text)
    return placeholderText(t, shown, t.rank() > 0);
  if (t.dtype() == DType::Bool && shown == 0)
    return "";
  if (t.isScalar())
    return shown ? text(t.raw(), 0, true) : "...";
  return Nested(t, text, shown).whole();
}

std::string flatText(const Tensor &t, int64_t limit) {
  int64_t shown = limit < 0 ? t.count() : std::min(limit, t.count());
  ElementText text = elementTextOf(t.dtype());
  if (!text)
    return placeholderText(t, shown, false);
  if (t.dtype() == DType::Bool && shown == 0)
    return "";
  if (t.isScalar())
    return shown ? text(t.raw(), 0, false) : "...";
  return Flat(t, text, shown).whole();
}

} // namespace treadle
