// StringSplit and StringSplitV2, whose results are sparse tensors.

#include <algorithm>

namespace treadle {
namespace {

using Parts = std::vector<std::string_view>;

constexpr std::string_view blanks = " \t\n\v\f\r";

std::string_view withoutLeadingBlanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

// Splits as Python's str.split(None, limit), except that a reached limit keeps an empty rest.
Parts splitAtWhitespace(std::string_view text, int64_t limit) {
  Parts parts;
  for (text = withoutLeadingBlanks(text); !text.empty();) {
    size_t end = std::min(text.find_first_of(blanks), text.size());
    parts.push_back(text.substr(0, end));
    text = withoutLeadingBlanks(text.substr(end));
    if (limit > 0 && std::ssize(parts) == limit) {
      parts.push_back(text);
      break;
    }
  }
  return parts;
}

Parts splitAt(std::string_view text, std::string_view separator, int64_t limit) {
  Parts parts;
  for (size_t at;
       (limit <= 0 || std::ssize(parts) < limit) && (at = text.find(separator)) != text.npos;
       text.remove_prefix(at + separator.size()))
    parts.push_back(text.substr(0, at));
  parts.push_back(text);
  return parts;
}

// Splits at any of the characters; into single characters if there are none.
Parts splitAtAny(std::string_view text, std::string_view characters, bool skipsEmpty) {
  Parts parts;
  if (characters.empty()) {
    for (size_t i = 0; i < text.size(); ++i)
      parts.push_back(text.substr(i, 1));
    return parts;
  }
  for (;;) {
    size_t end = std::min(text.find_first_of(characters), text.size());
    if (end || !skipsEmpty)
      parts.push_back(text.substr(0, end));
    if (end == text.size())
      return parts;
    text.remove_prefix(end + 1);
  }
}

// Outputs the parts of each string as a sparse matrix: indices, values, shape.
void setSparse(OpContext &ctx, const std::vector<Parts> &rows) {
  int64_t count = 0, widest = 0;
  for (const Parts &parts : rows) {
    count += std::ssize(parts);
    widest = std::max<int64_t>(widest, std::ssize(parts));
  }
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {count, 2});
  Tensor *values = ctx.allocateOutput(1, DType::String, {count});
  if (!indices || !values)
    return;
  auto *index = indices->data<int64_t>();
  auto *value = values->data<std::string>();
  for (size_t row = 0; row < rows.size(); ++row)
    for (size_t column = 0; column < rows[row].size(); ++column) {
      *index++ = static_cast<int64_t>(row);
      *index++ = static_cast<int64_t>(column);
      *value++ = rows[row][column];
    }
  int64_t shape[] = {std::ssize(rows), widest};
  ctx.setOutput(2, Tensor::vector<int64_t>(DType::Int64, shape));
}

// Splits each string of input 0 with `split(text, separator)`.
template <typename Split> void splitStrings(OpContext &ctx, Split split) {
  const Tensor &in = ctx.input(0), &separator = ctx.input(1);
  if (in.rank() != 1)
    return ctx.fail(invalidArgument("the input must be a vector, but it is ", tensorTypeText(in)));
  if (!separator.isScalar())
    return ctx.fail(
        invalidArgument("the separator must be a scalar, but it is ", tensorTypeText(separator)));
  std::vector<Parts> rows;
  for (const std::string &text : in.values<std::string>())
    rows.push_back(split(std::string_view(text), separator.scalarValue<std::string>()));
  setSparse(ctx, rows);
}

void splitV2(OpContext &ctx) {
  auto limit = ctx.state<int64_t>();
  splitStrings(ctx, [limit](std::string_view text, std::string_view separator) {
    return separator.empty() ? splitAtWhitespace(text, limit) : splitAt(text, separator, limit);
  });
}

Expected<BoundKernel> bindSplitV2(const BindContext &node) {
  return boundWith(splitV2, node.attrs.getOr<int64_t>("maxsplit", -1));
}

void split(OpContext &ctx) {
  bool skipsEmpty = ctx.state<bool>();
  splitStrings(ctx, [skipsEmpty](std::string_view text, std::string_view characters) {
    return splitAtAny(text, characters, skipsEmpty);
  });
}

Expected<BoundKernel> bindSplit(const BindContext &node) {
  return boundWith(split, node.attrs.getOr("skip_empty", true));
}

const KernelEntry stringSplitTable[] = {
    {"StringSplit", bindSplit},
    {"StringSplitV2", bindSplitV2},
};

} // namespace

std::span<const KernelEntry> stringSplitKernels() { return stringSplitTable; }

} // namespace treadle
