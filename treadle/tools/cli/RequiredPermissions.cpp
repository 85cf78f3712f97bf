#include "treadle/tools/cli/RequiredPermissions.h"

#include "treadle/tools/cli/Command.h"

#include <algorithm>

namespace treadle::cli {
namespace {

std::string lineOf(const GraphSummary::Want &want) {
  using Want = GraphSummary::Want;
  bool isKnown = !want.path.empty();
  std::string file = isKnown ? str("'", want.path, "'") : "a file named at run time";
  std::string argument = isKnown ? want.path : "PATH";
  switch (want.kind) {
  case Want::Read:
    return str("reading ", file, " (", want.op, "); --allow-read ", argument,
               " allows it, unless it belongs to the model");
  case Want::Write:
    return str("writing ", file, " (", want.op, "); --allow-write ", argument, " allows it");
  case Want::Clock:
    return str("the time of day (", want.op, "); --allow-clock allows it");
  case Want::Python:
    return str("the Python function ", isKnown ? str("'", want.path, "'") : std::string(), " (",
               want.op, "); treadle.register_op allows it");
  }
  return {};
}

} // namespace

std::vector<std::string> permissionLines(const std::vector<GraphSummary::Want> &wants) {
  std::vector<std::string> lines;
  for (const GraphSummary::Want &want : wants)
    if (std::string line = lineOf(want); std::ranges::find(lines, line) == lines.end())
      lines.push_back(std::move(line));
  return lines;
}

} // namespace treadle::cli
