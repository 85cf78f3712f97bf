// Parsing of command lines.
#include "treadle/tools/cli/Arguments.h"

#include "treadle/tensor/Suggestions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace treadle::cli {

static tl::unexpected<UsageError> usage(std::string message) {
  return tl::unexpected(UsageError{std::move(message)});
}

static tl::unexpected<UsageError> unknownOption(std::string_view name,
                                                std::span<const OptionRow> table) {
  std::vector<std::string_view> names;
  for (const OptionRow &row : table)
    if (!row.help.empty())
      names.push_back(row.name);
  return tl::unexpected(
      UsageError{"unknown option '" + std::string(name) + "'" + didYouMean(name, names), name});
}

Parsed<Arguments> Arguments::parse(std::span<const OptionRow> table, std::span<char *const> args) {
  Arguments parsed;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (arg.size() < 2 || arg[0] != '-') {
      parsed.positional.push_back(arg);
      continue;
    }
    size_t equals = arg.find('=');
    std::string_view name = arg.substr(0, equals);
    auto row = std::find_if(table.begin(), table.end(),
                            [&](const OptionRow &r) { return r.name == name; });
    if (row == table.end())
      return unknownOption(name, table);
    if (row->value.empty() && equals != arg.npos)
      return usage("option '" + std::string(name) + "' takes no value");
    std::string_view value = equals == arg.npos ? "" : arg.substr(equals + 1);
    if (!row->value.empty() && equals == arg.npos) {
      if (++i == args.size())
        return usage("option '" + std::string(name) + "' needs a value: " + std::string(name) +
                     " " + std::string(row->value));
      value = args[i];
    }
    parsed.options.emplace_back(row->name, value);
  }
  return parsed;
}

bool Arguments::has(std::string_view name) const { return value(name).has_value(); }

std::optional<std::string_view> Arguments::value(std::string_view name) const {
  std::vector<std::string_view> all = values(name);
  return all.empty() ? std::nullopt : std::optional(all.back());
}

std::vector<std::string_view> Arguments::values(std::string_view name) const {
  std::vector<std::string_view> found;
  for (const auto &[key, value] : options)
    if (key == name)
      found.push_back(value);
  return found;
}

std::vector<std::string> Arguments::list(std::string_view name) const {
  std::vector<std::string> items;
  for (std::string_view text : values(name))
    while (!text.empty()) {
      size_t comma = std::min(text.find(','), text.size());
      if (comma)
        items.emplace_back(text.substr(0, comma));
      text.remove_prefix(std::min(comma + 1, text.size()));
    }
  return items;
}

template <typename T>
static Parsed<T> parseNumber(std::string_view name, std::string_view text, T least,
                             const char *kind) {
  T number{};
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool isFinite = std::isfinite(static_cast<double>(number));
  if (failure != std::errc() || end != text.data() + text.size() || number < least || !isFinite)
    return usage("option '" + std::string(name) + "' is '" + std::string(text) + "', expected " +
                 kind + " of at least " + std::to_string(static_cast<int64_t>(least)));
  return number;
}

Parsed<double> Arguments::number(std::string_view name, double otherwise, double least) const {
  std::optional<std::string_view> text = value(name);
  return text ? parseNumber<double>(name, *text, least, "a number") : Parsed<double>(otherwise);
}

Parsed<int64_t> Arguments::integer(std::string_view name, int64_t otherwise, int64_t least) const {
  std::optional<std::string_view> text = value(name);
  return text ? parseNumber<int64_t>(name, *text, least, "an integer") : Parsed<int64_t>(otherwise);
}

} // namespace treadle::cli
