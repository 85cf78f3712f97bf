#include "treadle/kernels/state/VocabularyFile.h"

#include "treadle/checkpoint/Files.h"
#include "treadle/kernels/Element.h"

#include <charconv>

namespace treadle {
namespace {

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string_view> columnOf(std::string_view line, int64_t column, char delimiter) {
  for (; column > 0; --column) {
    size_t at = line.find(delimiter);
    if (at == line.npos)
      return std::nullopt;
    line.remove_prefix(at + 1);
  }
  return line.substr(0, line.find(delimiter));
}

template <typename T> bool parse(std::string_view text, T &value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size();
}
bool parse(std::string_view text, std::string &value) {
  value = text;
  return true;
}

using CellTypes = TypeList<std::string, int64_t, int32_t, float, double>;

Error atLine(const std::string &path, size_t line, const std::string &what) {
  return invalidArgument("'", path, "', line ", line + 1, ": ", what);
}

template <typename T>
Expected<void> fillColumn(const std::string &path, const std::vector<std::string_view> &lines,
                          size_t first, int64_t column, char delimiter, Tensor &out) {
  for (size_t i = 0; i < static_cast<size_t>(out.count()); ++i) {
    T &cell = out.data<T>()[i];
    if (column == VocabularyFormat::lineNumber) {
      if constexpr (!std::is_same_v<T, std::string>)
        cell = static_cast<T>(i);
      continue;
    }
    std::string_view line = lines[first + i];
    std::optional<std::string_view> text =
        column == VocabularyFormat::wholeLine ? line : columnOf(line, column, delimiter);
    if (!text)
      return Unexpected(atLine(path, first + i, str("there is no column ", column)));
    if (!parse(*text, cell))
      return Unexpected(
          atLine(path, first + i, str("'", *text, "' is not a valid ", dtypeName(dtypeOf<T>))));
  }
  return {};
}

Expected<Tensor> readColumn(const std::string &path, const std::vector<std::string_view> &lines,
                            size_t first, int64_t count, int64_t column, char delimiter,
                            DType dtype) {
  if (column == VocabularyFormat::lineNumber && dtype != DType::Int64)
    return Unexpected(
        invalidArgument("line numbers are int64, but the table expects ", dtypeName(dtype)));
  Tensor out = TREADLE_TRY(Tensor::make(dtype, {count}));
  Expected<void> done;
  bool isKnown = visitType(dtype, CellTypes(), [&]<typename T>() {
    done = fillColumn<T>(path, lines, first, column, delimiter, out);
  });
  if (!isKnown)
    return Unexpected(unimplemented("text files can't initialize tables of ", dtypeName(dtype)));
  if (!done)
    return Unexpected(std::move(done.error()));
  return out;
}

} // namespace

Expected<std::pair<Tensor, Tensor>> readVocabulary(const std::string &path,
                                                   const VocabularyFormat &format, DType key,
                                                   DType value, const FileAccess &files) {
  std::string text = TREADLE_TRY(readWholeFile(path, files));
  std::vector<std::string_view> lines = linesOf(text);
  auto first = static_cast<size_t>(std::clamp<int64_t>(format.firstLine, 0, std::ssize(lines)));
  int64_t count = std::ssize(lines) - static_cast<int64_t>(first);
  if (format.numLines > count)
    return Unexpected(
        invalidArgument("'", path, "' has ", count, " lines, but vocab_size is ", format.numLines));
  if (format.numLines >= 0)
    count = format.numLines;
  for (size_t i = first; i < first + static_cast<size_t>(count); ++i)
    if (lines[i].empty())
      return Unexpected(atLine(path, i, "it is empty"));
  auto column = [&](int64_t index, DType dtype) {
    return readColumn(path, lines, first, count, index, format.delimiter[0], dtype);
  };
  return column(format.keyColumn, key).and_then([&](Tensor keys) {
    return column(format.valueColumn, value).map([&](Tensor values) {
      return std::pair(std::move(keys), std::move(values));
    });
  });
}

} // namespace treadle
