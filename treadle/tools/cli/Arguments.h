// Command-line arguments: options by table, with the nearest name where one is mistyped.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace treadle::cli {

/// A row of a subcommand's option table. `value` names what the option takes, for help; empty: a
/// flag.
struct OptionRow {
  std::string_view name; // `--fetch`
  std::string_view value;
  std::string_view help; // empty: understood, but not shown
};

/// Bad usage: exit status 2.
struct UsageError {
  std::string message;
  std::string_view unknownOption = {}; // if that is what is wrong
};
template <typename T> using Parsed = tl::expected<T, UsageError>;

/// What a subcommand was called with: its positional arguments, and options in the order given.
class Arguments {
public:
  static Parsed<Arguments> parse(std::span<const OptionRow> table, std::span<char *const> args);

  bool has(std::string_view name) const;
  /// The last value of an option.
  std::optional<std::string_view> value(std::string_view name) const;
  /// All values of an option that may be repeated.
  std::vector<std::string_view> values(std::string_view name) const;
  /// All values, each split at its commas.
  std::vector<std::string> list(std::string_view name) const;
  /// The last value as a number of at least `least`.
  Parsed<double> number(std::string_view name, double otherwise, double least) const;
  Parsed<int64_t> integer(std::string_view name, int64_t otherwise, int64_t least) const;

  std::vector<std::string_view> positional;

private:
  std::vector<std::pair<std::string_view, std::string_view>> options;
};

} // namespace treadle::cli
