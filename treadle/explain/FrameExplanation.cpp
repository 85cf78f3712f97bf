// Explains v1 loops, whose order follows from their edges.
#include "treadle/explain/LoopExplanation.h"

#include "treadle/dialect/SourceLocation.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/runtime/Plan.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace treadle {

bool LoopExplainer::isBlocking(tfg::Node node) const {
  llvm::StringSet<> seen;
  SmallVector<tfg::Node> open = {node};
  while (!open.empty()) {
    tfg::Node next = open.pop_back_val();
    if (isBlockingOp(next.opType()))
      return true;
    forEachCalled(next, [&](tfg::FuncOp function) {
      if (seen.insert(function.getName()).second)
        for (Operation &op : function.getEntry())
          if (tfg::Node::isNode(&op))
            open.push_back(tfg::Node(&op));
    });
  }
  return false;
}

static Explanation::Loop frameNamed(StringRef name, tfg::Node enter) {
  Explanation::Loop loop;
  loop.name = name.str();
  loop.kind = "frame";
  loop.line = sourceLine(enter->getLoc());
  loop.parallelIterations = tfg::parallelIterations(enter);
  return loop;
}

Explanation::Loop LoopExplainer::explainGeneric(tfg::Node enter, StringRef frame) {
  Loop loop = frameNamed(frame, enter);
  loop.inAuto = loop.whenOn = genericText(enter);
  return loop;
}

Explanation::Loop LoopExplainer::explain(const tfg::FrameGraph &graph,
                                         tfg::FrameGraph::Index frame) {
  Loop loop = frameNamed(graph.frames()[frame].name, graph.frames()[frame].enter);
  tfg::Iterations iterations(graph, frame);
  tfg::Iterations::Cycles cycles = iterations.cycles();
  loop.inTurns = pick(iterations, [&](size_t i) { return cycles[i]; });
  loop.overlapping = pick(iterations, [&](size_t i) { return !cycles[i]; });
  addValueOrders(iterations, cycles, {}, loop);
  addResources(iterations, cycles, loop.parallelIterations > 1, loop);

  std::string bad = badParallelism(loop.parallelIterations);
  std::vector<Explanation::Op> slow =
      pick(iterations, [&](size_t i) { return isBlocking(iterations.nodes()[i]); });
  bool overlaps = loop.parallelIterations > 1 && !loop.overlapping.empty();
  loop.overlapsWhenOn = overlaps;
  loop.overlapsInAuto = overlaps && !slow.empty();
  if (!bad.empty())
    loop.whenOn = bad;
  else if (loop.parallelIterations == 1)
    loop.whenOn = sequentialText("its attribute 'parallel_iterations' is 1");
  else if (loop.overlapping.empty())
    loop.whenOn = sequentialText("each of its ops waits for the previous iteration");
  else
    loop.whenOn = iterationsText(loop.parallelIterations) + ", as far as the graph's edges allow";
  loop.inAuto = loop.whenOn;
  if (overlaps && slow.empty())
    loop.inAuto = sequentialText("no op in it waits for a queue or another run, so overlapping "
                                 "saves no time");
  else if (overlaps)
    loop.inAuto += str(", since ", opList(slow, 2), " may wait");
  if (loop.parallelIterations == 1)
    loop.advice.push_back("set 'parallel_iterations' of its Enter nodes to 2 or more");
  return loop;
}

void LoopExplainer::addResources(const tfg::Iterations &iterations,
                                 const tfg::Iterations::Cycles &cycles, bool overlaps, Loop &loop) {
  struct Use {
    size_t node;
    bool writes;
  };
  llvm::MapVector<std::pair<unsigned, ResourceEnd>, SmallVector<Use>> uses;
  for (auto [index, node] : llvm::enumerate(iterations.nodes()))
    for (tfg::Effect effect : effects.of(node)) {
      bool isFifo = effects.resource(effect.resource).isFifo;
      for (ResourceEnd part : {ResourceEnd::In, ResourceEnd::Out}) {
        if (!isFifo && part == ResourceEnd::Out)
          continue;
        if (isFifo && !(static_cast<unsigned>(part) & static_cast<unsigned>(effect.part)))
          continue;
        auto &list = uses[{effect.resource, isFifo ? part : ResourceEnd::Whole}];
        if (!list.empty() && list.back().node == index)
          list.back().writes |= effect.writes;
        else
          list.push_back({index, effect.writes});
      }
    }
  for (auto &[key, list] : uses) {
    auto [id, part] = key;
    Order &order = loop.orders.emplace_back();
    order.kind = "resource";
    order.subject = resourceText(id, part);
    bool isWritten = false, isOrdered = true;
    for (Use use : list) {
      order.by.push_back({describe(iterations.nodes()[use.node]), use.writes, false});
      isWritten |= use.writes;
      isOrdered &=
          cycles[use.node] && cycles.ofNodes[use.node] == cycles.ofNodes[list.front().node];
    }
    order.isOrder = isWritten && (isOrdered || !overlaps);
    order.isRace = isWritten && !order.isOrder;
  }
}

} // namespace treadle
