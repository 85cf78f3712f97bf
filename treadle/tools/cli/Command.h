// The subcommands of `treadle`, and what they share.
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
  std::string_view summary;   // one line of `treadle --help`
  std::string_view arguments; // `MODEL`, `IN OUT`
  size_t numPositional;
  std::span<const OptionRow> options;
  std::string_view example; // a command, and what it prints
  /// The exit status.
  int (*run)(const Arguments &args);
};

extern const Command runCommand, benchCommand, showCommand, checkCommand, explainCommand,
    exploreCommand, diffCommand, convertCommand, freezeCommand, profileCommand, linksCommand,
    viewCommand;

/// Prints `treadle: InvalidArgumentError: message` to standard error; returns exit status 1.
int report(const Error &error);
/// The value of an Expected; where it holds an error, a command reports that and ends.
#define TREADLE_OR_REPORT(...)                                                                     \
  __extension__({                                                                                  \
    auto treadleTried = (__VA_ARGS__);                                                             \
    if (!treadleTried)                                                                             \
      return ::treadle::cli::report(treadleTried.error());                                         \
    std::move(*treadleTried);                                                                      \
  })
/// The command that runs: bad usage of it leads to its own help. Empty before there is one.
extern std::string_view commandInUse;
/// Prints `treadle: message` to standard error; returns exit status 2.
int report(const UsageError &error);
/// --quiet was given: standard error has nothing but errors.
extern bool isQuiet;
/// Of every command.
inline constexpr OptionRow commonOptions[] = {
    {"--quiet", "", "no progress and no notes on standard error"},
};
/// Prints `treadle: note: message` to standard error, if it may, and once.
void note(const std::string &message);

/// Writes to standard output.
void print(std::string_view text);
/// The same, in lines.
void printJson(const json::Value &value);

/// `1 node`, `2 nodes`.
std::string plural(int64_t count, std::string_view thing);

/// Opens MODEL: a graph's file, `-`, or a folder that holds graph.pb.
Expected<Graph> openModel(std::string_view path);

} // namespace treadle::cli
