#include "treadle/transforms/overlap_loops/FrameLowering.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/transforms/functional_to_v1/Lowering.h"
#include "treadle/transforms/overlap_loops/FrameFit.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

bool isChosen(Operation &op) { return Node::isNode(&op) && op.hasAttr(toFrameKey); }

} // namespace

FrameLowering::FrameLowering(ModuleOp module)
    : module(module), effects(module), symbols(module), functions(functionsOf(module)) {
  eraseMarks(); // left over from a file
}

void FrameLowering::eraseMarks() {
  module.walk([](Operation *op) {
    if (Node::isNode(op)) {
      op->removeDiscardableAttr(toFrameKey);
      op->removeDiscardableAttr(ownNamesKey);
    }
  });
}

void FrameLowering::choose(Node loop, Names names, bool overlaps) {
  loop->setDiscardableAttr(toFrameKey, BoolAttr::get(module.getContext(), overlaps));
  if (names == Names::Own)
    loop->setDiscardableAttr(ownNamesKey, UnitAttr::get(module.getContext()));
}

bool FrameLowering::hasChosen(FuncOp function) {
  return !function.isExternal() && !function.getGeneric() &&
         llvm::any_of(function.getEntry(), isChosen);
}

std::vector<OrderEdge> FrameLowering::missingEdges(const EffectAnalysis &analysis) {
  std::vector<OrderEdge> edges;
  for (FuncOp function : module.getOps<FuncOp>())
    if (hasChosen(function) && !firstV1Node(function.getEntry()))
      llvm::append_range(edges, missingOrder(function.getEntry(), analysis));
  return edges;
}

/// Functions of chosen loops must not change until no remaining loop uses them.
unsigned FrameLowering::run() {
  findLoopFunctions();
  unsigned count = 0;
  for (GraphOp graph : module.getOps<GraphOp>())
    count += lowerIn(graph.getNodes().front());
  for (FuncOp function : module.getOps<FuncOp>())
    if (hasChosen(function) && !loopFunctions.contains(function))
      count += lowerIn(function.getEntry());
  eraseMarks();
  return count;
}

std::string FrameLowering::obstacle(const FunctionalNode &loop) {
  return frameObstacle(loop, effects, functions);
}

/// Finds the conditions and bodies of chosen loops. Loops inside them are lowered in the body that
/// they are inlined into.
void FrameLowering::findLoopFunctions() {
  module.walk([&](Operation *op) {
    if (!isChosen(*op))
      return;
    auto loop = FunctionalNode::of(Node(op), functions);
    for (FuncOp called : loop->functions)
      loopFunctions.insert(called);
  });
}

unsigned FrameLowering::lowerIn(Block &body) {
  std::vector<Node> open;
  for (Operation &op : body)
    if (isChosen(op))
      open.push_back(Node(&op));
  if (open.empty())
    return 0;
  unsigned count = 0;
  for (BodyNames names(body); !open.empty(); ++count) {
    Node node = open.back();
    open.pop_back();
    auto loop = FunctionalNode::of(node, functions);
    Lowering::FrameOptions options;
    options.overlaps = cast<BoolAttr>(node->removeDiscardableAttr(toFrameKey)).getValue();
    options.ownNames = node->removeDiscardableAttr(ownNamesKey) != nullptr;
    for (Node copy : Lowering(node, names, effects, symbols)
                         .lowerWhileInFrame(loop->functions[0], loop->functions[1], options))
      if (isChosen(*copy.getOperation()))
        open.push_back(copy);
  }
  return count;
}

} // namespace treadle::tfg
