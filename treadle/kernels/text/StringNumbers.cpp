// Numbers in strings: single ones, and fields of CSV records.
#include "treadle/kernels/text/StringNumbers.h"

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>
#include <charconv>
#include <locale.h>
#include <stdlib.h>

namespace treadle {
namespace {

std::string_view withoutBlanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Parses infinities, hexadecimal numbers, and numbers out of the range of `from_chars` with the C
// library.
template <typename T> bool parseFloatFallback(std::string_view text, T &value) {
  static locale_t locale = newlocale(LC_NUMERIC_MASK, "C", nullptr);
  if (text.find('(') != std::string_view::npos) // reject nan(...)
    return false;
  std::string copy(text);
  char *end = nullptr;
  if constexpr (std::is_same_v<T, float>)
    value = strtof_l(copy.c_str(), &end, locale);
  else
    value = strtod_l(copy.c_str(), &end, locale);
  return end == copy.c_str() + copy.size();
}

template <typename T> bool parseFloat(std::string_view text, T &value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size())
    return true;
  std::string_view digits = text.substr(!text.empty() && (text[0] == '-' || text[0] == '+'));
  if (digits.empty() || digits[0] == '-' || digits[0] == '+')
    return false;
  return parseFloatFallback(text, value);
}

} // namespace

template <typename T> bool parseNumber(std::string_view text, T &value) {
  text = withoutBlanks(text);
  if (text.empty())
    return false;
  if constexpr (std::is_floating_point_v<T>)
    return parseFloat(text, value);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') // from_chars accepts no plus sign
    text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

template bool parseNumber(std::string_view, float &);
template bool parseNumber(std::string_view, double &);
template bool parseNumber(std::string_view, int32_t &);
template bool parseNumber(std::string_view, int64_t &);
template bool parseNumber(std::string_view, uint32_t &);
template bool parseNumber(std::string_view, uint64_t &);

namespace {

using NumberTypes = TypeList<float, double, int32_t, int64_t, uint32_t, uint64_t>;

template <typename T> void toNumber(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor *out = ctx.allocateOutput(0, dtypeOf<T>, in.dims());
  for (int64_t i = 0; out && i < in.count(); ++i) {
    const std::string &text = in.data<std::string>()[i];
    if (!parseNumber(text, out->data<T>()[i]))
      return ctx.fail(invalidArgument("string ", i, " is '", text, "', expected a number of type ",
                                      dtypeName(dtypeOf<T>)));
  }
}

Expected<BoundKernel> bindToNumber(const BindContext &node) {
  return bindChosen<NumberTypes>(node, node.outputTypes[0],
                                 []<typename T>() { return toNumber<T>; });
}

// --- CSV ---------------------------------------------------------------------------------------

struct CsvOptions {
  char delimiter;
  bool hasQuotes;
  std::string missing; // text of a missing field
  std::vector<int64_t> columns;
  std::vector<DType> dtypes;
};

/// Parses the fields of a record from left to right.
class CsvLine {
public:
  CsvLine(std::string_view line, const CsvOptions &options) : rest(line), options(options) {}

  /// Returns the selected fields; empty with `problem` set on an error.
  std::vector<std::string> fields() {
    std::vector<std::string> out;
    if (rest.empty())
      return out;
    bool endsEmpty = rest.back() == options.delimiter;
    int64_t column = 0;
    auto isWanted = [&] {
      return options.columns.empty() ||
             (out.size() < options.columns.size() && options.columns[out.size()] == column);
    };
    while (!rest.empty() && problem.empty()) {
      if (rest[0] == '\n' || rest[0] == '\r') {
        rest.remove_prefix(1);
        continue;
      }
      std::string field = options.hasQuotes && rest[0] == '"' ? quoted() : plain();
      if (isWanted())
        out.push_back(std::move(field));
      ++column;
      if (!options.columns.empty() && out.size() == options.columns.size())
        return out;
    }
    if (endsEmpty && isWanted())
      out.emplace_back();
    return out;
  }

  std::string problem;

private:
  std::string plain() {
    std::string_view field = rest.substr(0, rest.find(options.delimiter));
    if (field.find_first_of(options.hasQuotes ? "\"\n\r" : "\n\r") != std::string_view::npos)
      problem = "a field without quotes has a quote or a line end inside";
    rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    return std::string(field);
  }

  // Reads up to a quote before a delimiter or the end; a doubled quote is one quote.
  std::string quoted() {
    std::string field;
    size_t i = 1;
    for (; i + 1 < rest.size() && (rest[i] != '"' || rest[i + 1] != options.delimiter);
         i += rest[i] == '"' ? 2 : 1) {
      if (rest[i] == '"' && rest[i + 1] != '"') {
        problem = "a quote inside a quoted field must be doubled";
        return field;
      }
      field += rest[i];
    }
    if (i >= rest.size() || rest[i] != '"')
      problem = "a quoted field has no quote at its end";
    rest.remove_prefix(std::min(rest.size(), i + 2));
    return field;
  }

  std::string_view rest;
  const CsvOptions &options;
};

// Stores field `f` of record `r` in its output; returns false after failing the op.
bool putField(OpContext &ctx, const CsvOptions &options, int f, int64_t r, std::string &field) {
  const Tensor &fallback = ctx.input(f + 1);
  Tensor &out = ctx.output(f);
  if (field.empty() || field == options.missing) {
    if (fallback.count() == 1) {
      copyElements(out.dtype(), elementAt(out.dtype(), out.raw(), r), fallback.raw(), 1);
      return true;
    }
    ctx.fail(invalidArgument("field ", f, " of record ", r,
                             " is missing and has no default; give it one in record_defaults"));
    return false;
  }
  if (out.dtype() == DType::String) {
    out.data<std::string>()[r] = std::move(field);
    return true;
  }
  bool isGood = false;
  visitType(out.dtype(), NumberTypes(),
            [&]<typename T>() { isGood = parseNumber(field, out.data<T>()[r]); });
  if (!isGood)
    ctx.fail(invalidArgument("field ", f, " of record ", r, " is '", field, "', expected ",
                             dtypeName(out.dtype())));
  return isGood;
}

void decodeCsv(OpContext &ctx) {
  const auto &options = ctx.state<CsvOptions>();
  const Tensor records = ctx.input(0);
  auto count = static_cast<int>(options.dtypes.size());
  for (int f = 0; f < count; ++f) {
    const Tensor &fallback = ctx.input(f + 1);
    if (fallback.rank() > 1 || fallback.count() > 1)
      return ctx.fail(invalidArgument("the default of field ", f, " is ", tensorTypeText(fallback),
                                      ", expected one element or none"));
    if (!ctx.allocateOutput(f, options.dtypes[f], records.dims()))
      return;
  }
  for (int64_t r = 0; r < records.count(); ++r) {
    CsvLine line(records.data<std::string>()[r], options);
    std::vector<std::string> fields = line.fields();
    if (!line.problem.empty())
      return ctx.fail(invalidArgument("record ", r, ": ", line.problem));
    if (std::ssize(fields) != count)
      return ctx.fail(
          invalidArgument("record ", r, " has ", fields.size(), " fields, expected ", count));
    for (int f = 0; f < count; ++f)
      if (!putField(ctx, options, f, r, fields[f]))
        return;
  }
}

Expected<BoundKernel> bindDecodeCsv(const BindContext &node) {
  CsvOptions options{',',
                     node.attrs.getOr("use_quote_delim", true),
                     node.attrs.getOr("na_value", std::string()),
                     node.attrs.getOr("select_cols", std::vector<int64_t>()),
                     {node.outputTypes.begin(), node.outputTypes.end()}};
  auto delimiter = node.attrs.getOr("field_delim", std::string(","));
  if (delimiter.size() != 1)
    return Unexpected(invalidArgument("field_delim is '", delimiter, "', expected one character"));
  options.delimiter = delimiter[0];
  const auto &columns = options.columns;
  if (!columns.empty() &&
      (columns.size() != options.dtypes.size() || columns[0] < 0 ||
       std::ranges::adjacent_find(columns, std::greater_equal()) != columns.end()))
    return Unexpected(invalidArgument("select_cols must name ", options.dtypes.size(),
                                      " columns, one for each output, in increasing order"));
  for (DType dtype : options.dtypes)
    if (dtype != DType::String && !visitType(dtype, NumberTypes(), []<typename T>() {}))
      return unsupportedDType(node, dtype);
  return boundWith(decodeCsv, std::move(options));
}

const KernelEntry stringNumberTable[] = {
    {"DecodeCSV", bindDecodeCsv},
    {"StringToNumber", bindToNumber},
};

} // namespace

std::span<const KernelEntry> stringNumberKernels() { return stringNumberTable; }

} // namespace treadle
