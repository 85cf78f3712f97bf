// The `treadle` command: selects the subcommand, parses its options by its table, and runs it.
#include "treadle/tools/cli/CommandLine.h"
#include "treadle/runtime/InstructionSet.h"
#include "treadle/sandbox/ChildProcess.h"
#include "treadle/sandbox/Server.h"
#include "treadle/tensor/Suggestions.h"
#include "treadle/tools/cli/Compile.h"
#include "treadle/tools/cli/Manual.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <unistd.h>

using namespace treadle;
using namespace treadle::cli;

static const Command *const commands[] = {
    &runCommand,     &viewCommand,    &benchCommand,   &showCommand, &checkCommand,
    &explainCommand, &profileCommand, &exploreCommand, &diffCommand, &convertCommand,
    &freezeCommand,  &compileCommand, &linksCommand};

// Formats `  name      text` with aligned columns.
static std::string rowText(std::string_view name, size_t width, std::string_view text) {
  std::string padding(width - std::min(width, name.size()), ' ');
  return str("  ", name, padding, text, "\n");
}

static std::string helpText() {
  std::string text = "usage: treadle COMMAND ARGUMENTS\n\n";
  for (const Command *command : commands)
    text += rowText(command->name, 9, command->summary);
  return str(text,
             "\n'treadle COMMAND --help' lists a command's options; 'treadle --version' prints the "
             "version.\n",
             modelKinds,
             "\n  treadle run examples/countdown.pbtxt --fetch count:0,loop/dec:0@*\n"
             "  count:0: int32[] = 0\n"
             "  loop/dec:0@*: int32[5] = [4 3 2 1 0]\n");
}

static void printHelp(const Command &command) {
  print(str("usage: treadle ", command.name, " ", command.arguments, " [OPTIONS]\n\n",
            command.summary, "\n\n"));
  for (std::span<const OptionRow> options :
       {command.options, std::span<const OptionRow>(commonOptions)})
    for (const OptionRow &option : options)
      if (!option.help.empty())
        print(rowText(str(option.name, option.value.empty() ? "" : " ", option.value), 28,
                      option.help));
  print(str("\nexample:\n", command.example));
}

static const Command *findCommand(std::string_view name) {
  for (const Command *command : commands)
    if (command->name == name)
      return command;
  return nullptr;
}

static int unknownCommand(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Command *command : commands)
    names.push_back(command->name);
  return report(UsageError{str("unknown command '", name, "'", didYouMean(name, names))});
}

/// Runs `treadle help` or `treadle help run`.
static int help(std::string_view name) {
  if (name.empty()) {
    print(helpText());
    return 0;
  }
  const Command *command = findCommand(name);
  if (!command)
    return unknownCommand(name);
  printHelp(*command);
  return 0;
}

/// Parses the options of a command. If an option is unknown here but belongs to another command,
/// such as `--check` in `bench`, the error names that command.
static Parsed<Arguments> parse(const Command &command, std::span<char *const> args) {
  std::vector<OptionRow> table(command.options.begin(), command.options.end());
  table.insert(table.end(), std::begin(commonOptions), std::end(commonOptions));
  Parsed<Arguments> parsed = Arguments::parse(table, args);
  if (parsed || parsed.error().unknownOption.empty())
    return parsed;
  std::string owners;
  for (const Command *other : commands)
    if (std::ranges::find(other->options, parsed.error().unknownOption, &OptionRow::name) !=
        other->options.end())
      owners += str(owners.empty() ? "" : ", ", "'treadle ", other->name, "'");
  if (!owners.empty())
    parsed.error().message += "; it is an option of " + owners;
  return parsed;
}

static int runCommandLine(const Command &command, std::span<char *const> args) {
  commandInUse = command.name;
  for (std::string_view arg : args)
    if (arg == "--help" || arg == "-h") {
      printHelp(command);
      return 0;
    }
  Arguments parsed = TREADLE_OR_REPORT(parse(command, args));
  if (parsed.positional.size() != command.numPositional)
    return report(UsageError{str("'treadle ", command.name, "' got ",
                                 plural(std::ssize(parsed.positional), "argument"), ", expected ",
                                 command.arguments)});
  isQuiet = parsed.has("--quiet");
  return command.run(parsed);
}

// Prints a message on Ctrl-C, and ends with the signal's default action, so that shells and make
// see the cause.
static void onInterrupt(int signal) {
  static constexpr std::string_view text = "treadle: interrupted\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  raise(signal); // ends the process after return: SA_RESETHAND restored the default handler
}

static void handleInterrupts() {
  struct sigaction now = {}, action = {};
  action.sa_handler = onInterrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  // A background job may have been started with SIGINT ignored.
  if (sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
    sigaction(SIGINT, &action, nullptr);
}

int treadle::cli::commandLine(int argc, char **argv) {
  handleInterrupts();
  std::string_view name = argc > 1 ? argv[1] : "";
  if (name == sandbox::ChildProcess::command)
    return sandbox::serve({argv + 2, static_cast<size_t>(argc - 2)});
  if (name == "--help" || name == "-h" || name == "help")
    return help(argc > 2 ? argv[2] : "");
  if (name == "--version") {
    print(str("treadle ", version(), "\n"));
    return 0;
  }
  if (name == "--manual" || name == "--completion") { // for installers of man pages and completions
    print(name == "--manual" ? manualPage(commands) : bashCompletion(commands));
    return 0;
  }
  if (name.empty()) { // an error, so that a script that lost its command stops
    std::string text = helpText();
    std::fwrite(text.data(), 1, text.size(), stderr);
    return 2;
  }
  if (const auto &request = requestedInstructionSet(); !request)
    return report(request.error());
  const Command *command = findCommand(name);
  if (!command)
    return unknownCommand(name);
  int status = runCommandLine(*command, {argv + 2, static_cast<size_t>(argc - 2)});
  // Report a pipe that was closed early, or a full disk.
  if (std::fflush(stdout) != 0 && status == 0)
    return report(unavailable("standard output cannot be written"));
  return status;
}
