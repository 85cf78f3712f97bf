#include "treadle/explain/Recommendations.h"

#include "treadle/explain/LoopExplanation.h"
#include "treadle/ops/OpTable.h"

namespace treadle {

static constexpr size_t maxThings = 3;

using Things = std::vector<std::string>;

static bool runsLoop(const Explanation::Op &op) { return isLoop(opKind(op.op)); }

static void add(Things &things, std::string thing) {
  if (things.size() < maxThings && !llvm::is_contained(things, thing))
    things.push_back(std::move(thing));
}

/// Adds loops that are interpreted, with the obstacles to compilation.
static void addInterpretedLoops(const Explanation &explanation, Things &things) {
  for (const Explanation::Interpreted &part : explanation.interpreted)
    for (const Explanation::Op &op : part.nodes)
      if (runsLoop(op) && !part.why.starts_with("no fetch or target of the run"))
        add(things, str("compile loop ", opText(op), ": ", part.why));
}

/// Adds loops with blocking nodes whose iterations run one after the other. If overlapping saves no
/// time, `auto` keeps the order even though it isn't required.
static void addWaitingLoops(const Explanation &explanation, Things &things) {
  for (const Explanation::Body &body : explanation.bodies)
    for (const Explanation::Loop &loop : body.loops)
      if (!loop.overlapsInAuto && !loop.overlapsWhenOn && !loop.advice.empty())
        add(things, str("let iterations of loop '", loop.name, "' overlap: ", loop.advice.front()));
}

/// Adds ops that would be compiled if a single obstacle were removed.
static void addInterpreted(const Explanation &explanation, Things &things) {
  std::vector<const Explanation::Interpreted *> parts;
  for (const Explanation::Interpreted &part : explanation.interpreted)
    if (part.why.starts_with("can't be compiled") && llvm::none_of(part.nodes, runsLoop))
      parts.push_back(&part);
  std::ranges::sort(parts, std::greater(), [](const auto *part) { return part->nodes.size(); });
  for (const Explanation::Interpreted *part : parts)
    add(things, str("compile ", opList(part->nodes, 2), ": ", part->why));
}

std::vector<std::string> recommendationsFor(const Explanation &explanation) {
  Things things;
  addInterpretedLoops(explanation, things);
  addWaitingLoops(explanation, things);
  addInterpreted(explanation, things);
  return things;
}

} // namespace treadle
