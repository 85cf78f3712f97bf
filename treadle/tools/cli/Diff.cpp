// `treadle diff`: the differences between two graphs.
#include "treadle/graph/Diff.h"
#include "treadle/View.h"
#include "treadle/npy/Npy.h"
#include "treadle/tools/cli/Command.h"

namespace treadle::cli {
namespace {

json::Object jsonOf(const Difference &difference) {
  return object("kind", difference.kind, "function", difference.function, "node", difference.node,
                "message", difference.message);
}

/// Writes a page with both graphs side by side and their differences.
Expected<void> writePage(const Arguments &args, const Graph &before, const Graph &after,
                         const std::string &path) {
  ViewRequest request;
  request.title = args.positional[0];
  request.other = after;
  request.otherTitle = args.positional[1];
  auto parts = TREADLE_TRY(viewParts(before, request));
  return writeFileBytes(path, viewPage(parts));
}

int diff(const Arguments &args) {
  Graph before = TREADLE_OR_REPORT(openModel(args.positional[0]));
  Graph after = TREADLE_OR_REPORT(openModel(args.positional[1]));
  std::vector<Difference> differences = TREADLE_OR_REPORT(diffGraphs(before, after));
  if (auto path = args.value("--html"))
    if (Expected<void> written = writePage(args, before, after, std::string(*path)); !written)
      return report(written.error());
  json::Array all;
  for (const Difference &difference : differences)
    if (args.has("--json"))
      all.push_back(jsonOf(difference));
    else
      print(formatDifference(difference) + "\n");
  if (args.has("--json"))
    printJson(std::move(all));
  return differences.empty() ? 0 : 1;
}

constexpr OptionRow options[] = {
    {"--json", "", "print a JSON array"},
    {"--html", "PAGE.html", "also write a page that shows both graphs side by side"},
};

} // namespace

const Command diffCommand = {
    "diff",
    "compare two graphs, node by node and function by function",
    "A B",
    2,
    options,
    "  treadle diff before.pb after.pb\n"
    "  ~ node 'y': inputs are [x:0], were [w:0]\n"
    "Exits 0 and prints nothing if the graphs are equal, and exits 1 otherwise.\n",
    diff,
};

} // namespace treadle::cli
