// tfg-overlap-loops: loops whose iterations chains order become frames, in which they overlap.
#include "treadle/transforms/Passes.h"

#include "treadle/transforms/deps_to_chains/Gain.h"
#include "treadle/transforms/functional_to_v1/Lowering.h"
#include "treadle/transforms/overlap_loops/FrameFit.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_OVERLAPLOOPS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {
namespace {

class Overlapping {
public:
  explicit Overlapping(ModuleOp module) : module(module), effects(module), symbols(module) {
    for (FuncOp function : module.getOps<FuncOp>())
      functions[function.getName()] = function;
  }

  /// Marks the loops to be lowered; copies of them are marked as well.
  void choose(const EffectAnalysis &analysis, bool all) {
    WaitingNodes waiting(module);
    for (const LoopOrder &order : planLoops(module, analysis, LoopOverlap::On))
      if (order.obstacle.empty() && !order.needsChange() &&
          frameObstacle(order.loop, effects, functions).empty() &&
          (all || estimate(order, analysis, waiting).gains()))
        order.loop.node->setDiscardableAttr(chosenKey, UnitAttr::get(module.getContext()));
  }

  /// The edges that bodies with such a loop lack, whose nodes will no longer run one by one.
  std::vector<OrderEdge> missingEdges(const EffectAnalysis &analysis) {
    std::vector<OrderEdge> edges;
    for (FuncOp function : module.getOps<FuncOp>())
      if (hasChosen(function) && !firstV1Node(function.getEntry()))
        llvm::append_range(edges, missingOrder(function.getEntry(), analysis));
    return edges;
  }

  /// Bodies of chosen loops are needed as they are until no loop is left that they belong to.
  unsigned run() {
    findLoopFunctions();
    unsigned count = 0;
    for (GraphOp graph : module.getOps<GraphOp>())
      count += lowerIn(graph.getNodes().front());
    for (FuncOp function : module.getOps<FuncOp>())
      if (hasChosen(function) && !loopFunctions.contains(function))
        count += lowerIn(function.getEntry());
    module.walk([](Operation *op) {
      if (Node::isNode(op))
        op->removeDiscardableAttr(chosenKey);
    });
    return count;
  }

private:
  static constexpr llvm::StringLiteral chosenKey = "tfg.overlap";

  static bool isChosen(Operation &op) { return Node::isNode(&op) && op.hasAttr(chosenKey); }
  bool hasChosen(FuncOp function) {
    return !function.isExternal() && !function.getGeneric() &&
           llvm::any_of(function.getEntry(), isChosen);
  }

  /// The conditions and bodies of chosen loops: their own loops are lowered where they go to.
  void findLoopFunctions() {
    module.walk([&](Operation *op) {
      if (!isChosen(*op))
        return;
      auto loop = FunctionalNode::of(Node(op), functions);
      for (FuncOp called : loop->functions)
        loopFunctions.insert(called);
    });
  }

  unsigned lowerIn(Block &body) {
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
      for (Node copy : Lowering(node, names, effects, symbols)
                           .lowerWhileInFrame(loop->functions[0], loop->functions[1]))
        if (isChosen(*copy.getOperation()))
          open.push_back(copy);
    }
    return count;
  }

  ModuleOp module;
  Effects effects;
  SymbolTable symbols;
  llvm::StringMap<FuncOp> functions;
  llvm::DenseSet<Operation *> loopFunctions;
};

} // namespace
} // namespace tfg

namespace {

struct OverlapLoops : impl::OverlapLoopsBase<OverlapLoops> {
  using Base::Base;

  void runOnOperation() override {
    tfg::EffectAnalysis analysis(getOperation());
    tfg::Overlapping loops(getOperation());
    loops.choose(analysis, all);
    for (tfg::OrderEdge edge : loops.missingEdges(analysis))
      tfg::addControl(edge.to, edge.from.controlResult());
    numLowered += loops.run();
  }
};

} // namespace
} // namespace treadle
