#include "treadle/graph/StarvedNodes.h"

#include "treadle/graph/Needed.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/runtime/FunctionOps.h"

using namespace mlir;

namespace treadle {

static bool hasFrames(Block &body) {
  return llvm::any_of(body, [](Operation &op) {
    return tfg::Node::isNode(&op) && tfg::Node(&op).attr("frame_name");
  });
}

std::vector<tfg::StarvedNode> findStarvedNodes(ModuleOp module, size_t limit) {
  std::vector<tfg::StarvedNode> found;
  auto visit = [&](Block &body) {
    if (hasFrames(body))
      llvm::append_range(found, tfg::findStarvedNodes(tfg::FrameGraph(body), limit));
  };
  tfg::forEachBody(module, [&](Block &body) {
    visit(body);
    tfg::forEachRegionBody(body, visit);
  });
  return found;
}

std::vector<tfg::StarvedNode> findStarvedNodes(ModuleOp module, const ModuleIndex &index,
                                               const std::vector<std::string> &names) {
  Expected<std::set<Operation *>> needed = neededBy(index, names);
  if (!needed)
    return {};
  std::vector<tfg::StarvedNode> found = findStarvedNodes(module, /*limit=*/1000);
  llvm::StringSet<> called = calledBy(index, *needed);
  auto isNeeded = [&](Operation *op) {
    while (!isa<tfg::GraphOp, tfg::FuncOp>(op->getParentOp()))
      op = op->getParentOp();
    auto function = dyn_cast<tfg::FuncOp>(op->getParentOp());
    return function ? called.contains(function.getName()) : needed->count(op) != 0;
  };
  std::erase_if(found,
                [&](tfg::StarvedNode &starved) { return !isNeeded(starved.node.getOperation()); });
  return found;
}

Error withStarvedNodes(Error error, ModuleOp module, const ModuleIndex &index,
                       const std::vector<std::string> &names) {
  bool isOfLoop = error.message.ends_with(loopGaveNone);
  if (!isOfLoop && !error.message.ends_with(notInIteration))
    return error;
  std::vector<tfg::StarvedNode> starved = findStarvedNodes(module, index, names);
  if (starved.empty())
    return error;
  if (isOfLoop)
    error.message.replace(error.message.size() - loopGaveNone.size(), std::string::npos,
                          " has no value");
  error.message += ": " + tfg::textOf(starved);
  return error;
}

} // namespace treadle
