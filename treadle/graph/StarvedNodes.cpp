#include "treadle/graph/StarvedNodes.h"

#include "treadle/graph/Dependencies.h"
#include "treadle/rewriting/Frames.h"
#include "treadle/rewriting/Rewriting.h"
#include "treadle/runtime/FunctionOps.h"

using namespace mlir;

namespace treadle {

/// Finds starved nodes in the graph and in the selected functions.
static std::vector<tfg::StarvedNode>
findStarvedNodes(ModuleOp module, size_t limit, llvm::function_ref<bool(tfg::FuncOp)> isWanted) {
  std::vector<tfg::StarvedNode> found;
  auto visit = [&](Block &body) {
    if (tfg::hasFrames(body))
      llvm::append_range(found, tfg::findStarvedNodes(tfg::FrameGraph(body), limit));
  };
  tfg::forEachBody(module, [&](Block &body) {
    auto function = dyn_cast<tfg::FuncOp>(body.getParentOp());
    if (function && !isWanted(function))
      return;
    visit(body);
    tfg::forEachRegionBody(body, visit);
  });
  return found;
}

std::vector<tfg::StarvedNode> findStarvedNodes(ModuleOp module, size_t limit) {
  return findStarvedNodes(module, limit, [](tfg::FuncOp) { return true; });
}

std::vector<tfg::StarvedNode> findStarvedNodes(ModuleOp module, const ModuleIndex &index,
                                               const std::vector<std::string> &names) {
  Expected<std::set<Operation *>> needed = dependenciesOf(index, names);
  if (!needed)
    return {};
  llvm::StringSet<> called = functionsCalledBy(index, *needed);
  std::vector<tfg::StarvedNode> found =
      findStarvedNodes(module, /*limit=*/1000,
                       [&](tfg::FuncOp function) { return called.contains(function.getName()); });
  std::erase_if(found, [&](const tfg::StarvedNode &starved) {
    Operation *op = starved.node.getOperation();
    while (!isa<tfg::GraphOp, tfg::FuncOp>(op->getParentOp()))
      op = op->getParentOp();
    return isa<tfg::GraphOp>(op->getParentOp()) && !needed->contains(op);
  });
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
