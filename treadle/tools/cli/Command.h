// The subcommands of `treadle`, and their shared functions.
#pragma once

#include "treadle/session/Json.h"
#include "treadle/tools/cli/Arguments.h"
#include "treadle/treadle.h"

#include <span>
#include <string>

namespace treadle::cli {

/// A subcommand: a row of the table in CommandLine.cpp.
struct Command {
  std::string_view name;
  std::string_view summary;   // its line in `treadle --help`
  std::string_view arguments; // `MODEL`, `IN OUT`
  size_t numPositional;
  std::span<const OptionRow> options;
  std::string_view example; // an example command with its output
  /// Runs the command; returns the exit status.
  int (*run)(const Arguments &args);
};

extern const Command runCommand, benchCommand, showCommand, checkCommand, explainCommand,
    exploreCommand, diffCommand, convertCommand, freezeCommand, profileCommand, linksCommand,
    viewCommand;

/// Prints `treadle: InvalidArgumentError: message` to standard error; returns exit status 1.
int report(const Error &error);
/// Evaluates to the value of an Expected; reports its error and returns from the command otherwise.
#define TREADLE_OR_REPORT(...)                                                                     \
  __extension__({                                                                                  \
    auto treadleTried = (__VA_ARGS__);                                                             \
    if (!treadleTried)                                                                             \
      return ::treadle::cli::report(treadleTried.error());                                         \
    std::move(*treadleTried);                                                                      \
  })
/// The running command, whose help usage errors refer to. Empty before a command is chosen.
extern std::string_view commandInUse;
/// Prints `treadle: message` to standard error; returns exit status 2.
int report(const UsageError &error);
/// Whether --quiet was given: only errors are printed to standard error.
extern bool isQuiet;
/// The options of every command.
inline constexpr OptionRow commonOptions[] = {
    {"--quiet", "", "print no progress and no notes to standard error"},
};
/// Prints `treadle: note: message` to standard error, once for each message, unless --quiet was
/// given.
void note(const std::string &message);

/// Writes to standard output.
void print(std::string_view text);
/// Writes JSON to standard output, on several lines.
void printJson(const json::Value &value);

/// `1 node`, `2 nodes`.
std::string plural(int64_t count, std::string_view thing);

/// Opens MODEL: the file of a graph, `-` for standard input, or a folder.
Expected<Graph> openModel(std::string_view path);

} // namespace treadle::cli
