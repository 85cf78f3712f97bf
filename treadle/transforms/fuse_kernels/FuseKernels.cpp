#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/dialect/TfType.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/Passes.h"
#include "treadle/transforms/channels_last/ChannelsLast.h"
#include "treadle/transforms/deps_to_chains/Gain.h"

using namespace mlir;

namespace treadle {

#define GEN_PASS_DEF_FUSEKERNELS
#include "treadle/transforms/Passes.h.inc"

namespace tfg {

Node FusionScope::producer(Value value, StringRef opType) const {
  auto result = dyn_cast<OpResult>(value);
  if (!result || result.getResultNumber() != 0)
    return {};
  Node node(result.getOwner());
  return Node::isNode(node.getOperation()) && node.opType() == opType && !isFunction(opType)
             ? node
             : Node();
}

std::optional<SmallVector<int64_t>> FusionScope::declaredDims(Value value) const {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    return llvm::to_vector(type.getShape());
  if (Tensor constant = constants.valueOf(value))
    return SmallVector<int64_t>(constant.dims().begin(), constant.dims().end());
  Node node = definingNode(value);
  ArrayAttr shapes = node ? statedShapes(node.attr(outputShapesKey), 1) : ArrayAttr();
  auto shape = shapes ? cast<tf_type::ShapeAttr>(shapes[0]) : tf_type::ShapeAttr();
  if (!shape || !shape.hasRank())
    return std::nullopt;
  return llvm::to_vector(shape.getDims());
}

static void fuse(const FusionScope &scope) {
  fuseLstmGates(scope);
  fuseForms(scope);
  fuseAttention(scope);
  fuseContractions(scope);
  sampleImages(scope);
}

void forEachFusionScope(ModuleOp module, ArrayRef<std::string> keep, Constants &constants,
                        function_ref<void(const FusionScope &)> visit) {
  llvm::StringSet<> kept, nothingKept;
  for (const std::string &name : keep)
    kept.insert(name);
  const FunctionMap functions = functionsOf(module);
  auto isFunction = [&](StringRef name) { return functions.contains(name); };
  BlockingNodes waiting(module, BlockingNodes::ForOthers);
  forEachBody(module, [&](Block &body) {
    CommunicationOrder exchanges(body, waiting);
    bool isGraph = isa<GraphOp>(body.getParentOp());
    visit({body, isFunction, isGraph ? kept : nothingKept, constants, exchanges});
  });
}

void forEachFusionScope(ModuleOp module, ArrayRef<std::string> keep,
                        function_ref<void(const FusionScope &)> visit) {
  Constants constants;
  forEachFusionScope(module, keep, constants, [&](const FusionScope &scope) {
    for (Operation &op : scope.body)
      if (Node::isNode(&op) && scope.isKept(Node(&op)))
        llvm::for_each(Node(&op).results(), [&](Value v) { constants.setFed(v); });
    visit(scope);
  });
}

static void fuseForPlan(Block &body, const ModuleIndex &index, bool turns) {
  SoftEdges soft(body);
  Constants constants;
  auto isFunction = [&](StringRef name) { return static_cast<bool>(index.function(name)); };
  const llvm::StringSet<> nothingKept; // results of the subgraph count as uses
  if (turns)
    convertToChannelsLast({body, isFunction, nothingKept, constants, CommunicationOrder()});
  auto functionOf = [&](StringRef name) { return index.function(name); };
  BlockingNodes waiting(functionOf, BlockingNodes::ForOthers);
  CommunicationOrder exchanges(body, waiting);
  fuse({body, isFunction, nothingKept, constants, exchanges});
}

/// Returns whether the node, or a node in its regions, may be fused with others.
static bool mayFuse(Node node) {
  auto mayInside = [](Region &region) {
    return llvm::any_of(region.front().without_terminator(),
                        [](Operation &op) { return mayFuse(Node(&op)); });
  };
  return mayBeFused(node) || mayBeSampled(node) || llvm::any_of(node->getRegions(), mayInside);
}

// Copies the subgraph only if it has nodes to fuse, which most large graphs don't. Images in loops
// keep their layout, because transposing in each iteration may cost more than it saves.
void fuseKernels(PrunedSubgraph &part, const ModuleIndex &index) {
  bool turns = part.hasNode(hasChannelsFirst);
  if (!turns && !part.hasNode(mayFuse))
    return;
  Block &body = part.copyNodes();
  forEachRegionBody(body, [&](Block &inner) { fuseForPlan(inner, index, /*turns=*/false); });
  fuseForPlan(body, index, turns);
}

} // namespace tfg

namespace {

struct FuseKernels : impl::FuseKernelsBase<FuseKernels> {
  using Base::Base;

  void runOnOperation() override {
    tfg::SoftEdges soft(getOperation());
    tfg::forEachFusionScope(getOperation(), keep, tfg::fuse);
  }
};

} // namespace
} // namespace treadle
