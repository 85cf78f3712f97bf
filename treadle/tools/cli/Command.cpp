// Helpers of all subcommands: error reports, opening models.
#include "treadle/tools/cli/Command.h"
#include "treadle/tools/cli/Progress.h"

#include "llvm/Support/FormatVariadic.h"

#include <cstdio>
#include <set>

#include <sys/stat.h>

namespace treadle::cli {

std::string_view commandInUse;
bool isQuiet = false;

static void printError(const std::string &text) {
  std::string line = "treadle: " + text + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

int report(const Error &error) {
  printError(str(errorClass(error.code), ": ", error.message));
  return 1;
}

int report(const UsageError &error) {
  printError(str(error.message, "; 'treadle ", commandInUse, commandInUse.empty() ? "" : " ",
                 "--help' lists the options"));
  return 2;
}

void note(const std::string &message) {
  static std::set<std::string> made;
  if (!isQuiet && made.insert(message).second)
    printError("note: " + message);
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void printJson(const json::Value &value) { print(llvm::formatv("{0:1}\n", value).str()); }

std::string plural(int64_t count, std::string_view thing) {
  return str(count, " ", thing, count == 1 ? "" : "s");
}

Expected<Graph> openModel(std::string_view path) {
  Expected<Graph> graph = [&] {
    Progress progress(str("loading ", path));
    return Graph::fromFile(std::string(path));
  }();
  if (graph)
    for (const std::string &text : graph->notes())
      note(text);
  return graph;
}

} // namespace treadle::cli
