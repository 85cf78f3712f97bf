// Command-line arguments: options defined by a table, with suggestions for mistyped names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace treadle::cli {

/// A row of a subcommand's option table. `value` names the value of the option in help; empty for a
/// flag.
struct OptionRow {
  std::string_view name; // `--fetch`
  std::string_view value;
  std::string_view help; // empty: accepted, but not listed in help
};

/// An error in the usage of a command: exit status 2.
struct UsageError {
  std::string message;
  std::string_view unknownOption = {}; // set if the option is unknown
};
template <typename T> using Parsed = tl::expected<T, UsageError>;

/// The arguments of a subcommand: positional arguments, and options in the order given.
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
