// Converts loops of v1 control flow to While nodes.
#include "treadle/dialect/NodeAttributes.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/transforms/functional_to_v1/Lowered.h"
#include "treadle/transforms/structure_loops/RaiseLoop.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"
#include "treadle/transforms/v1_to_functional/Conversion.h"

using namespace mlir;

namespace treadle::tfg {

static std::string loopName(StringRef frameName) {
  auto [scope, last] = frameName.rsplit('/');
  return last.empty() ? frameName.str() : scope.str();
}

// In a graph, results of a loop keep their names, so that they can be fetched.
static void convertLoop(Conversion &conversion, NameScope &names, bool isGraph, Loop &loop,
                        LoopParts &parts) {
  std::string base = loopName(loop.frameName.getValue());
  const LoopFunctions functions{conversion.functions.unique(base + "_cond"),
                                conversion.functions.unique(base + "_body"), conversion.effects};
  Node node = raiseLoop(loop, parts, names.unique(base), &functions);
  node->setAttr(frameNameKey, loop.frameName);
  node->setAttr("output_shapes", ArrayAttr::get(node->getContext(), {}));
  parts.replaceExits(node, [&](Node exit) { return isGraph && !loop.parent && !isLowered(exit); });
  parts.setInPlace(conversion.outline(node));
}

void convertLoops(Conversion &conversion, Block &body) {
  std::vector<Operation *> order = topologicalOrder(body);
  std::vector<std::unique_ptr<Loop>> loops = findLoops(order);
  if (loops.empty())
    return;
  NameScope names(body);
  Deadness deadness(order);
  bool runsAll = runsAllNodes(body), isGraph = isa<GraphOp>(body.getParentOp());
  auto isPure = [&](Node node) { return conversion.effects.isPure(node); };
  auto isKept = [&](Node node) { return conversion.isKept(node); };
  auto runs = [&](Node node) { return runsAll && !isPure(node); };
  const LoopRules rules{isKept, isPure, runs};
  for (std::unique_ptr<Loop> &loop : loops) {
    ++conversion.counts.loops;
    LoopParts parts(*loop, rules, deadness);
    if (parts.find()) {
      convertLoop(conversion, names, isGraph, *loop, parts);
      ++conversion.counts.convertedLoops;
      continue;
    }
    Operation *op = loop->culprit ? loop->culprit : body.getParentOp();
    op->emitRemark() << "loop '" << loop->frameName.getValue()
                     << "' isn't converted: " << loop->problem;
  }
}

} // namespace treadle::tfg
