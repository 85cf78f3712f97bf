#include "treadle/transforms/constant_folding/PlanConstants.h"

#include "treadle/kernels/Families.h"
#include "treadle/lowering/Constants.h"
#include "treadle/ops/OpTable.h"
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/constant_folding/Simplifier.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

/// The maximum number of bytes of one result, of the inputs of one node, of the constants that
/// replace nodes in one plan, and of all results that are evaluated for one body.
constexpr int64_t maxResultBytes = 100 << 10, maxInputBytes = 1 << 20, maxPlanBytes = 16 << 20,
                  maxEvaluatedBytes = 64 << 20;

/// Compiled code computes elements that are moved from a smaller tensor by their index. Above this
/// size, that is cheaper than a load.
constexpr int64_t maxSpreadBytes = 1 << 10;

bool isFoldedType(Type type) {
  auto tensor = dyn_cast<TensorType>(type);
  if (!tensor)
    return true; // a token
  Type element = tensor.getElementType();
  return !tf_type::isReference(element) &&
         !isa<tf_type::ResourceType, tf_type::VariantType>(element);
}

class PlanConstants {
public:
  PlanConstants(const ModuleIndex &index, const KernelRegistry &kernels)
      : index(index), kernels(kernels) {}

  /// Returns whether a node can be folded if its inputs are constants.
  bool isFoldable(Node node) const {
    const OpDef *op = lookupOp(node.opType());
    if (!op || op->kind() != OpKind::Plain || op->isStateful() || node.numData() == 0 ||
        node.numControl() != 0 || node->getNumRegions() != 0 || node.opType() == "Identity")
      return false;
    const OpFacts &facts = op->facts();
    return !facts.blocks && !facts.runsPython && !facts.checks &&
           facts.effects.reach == OpEffects::Reach::Nothing &&
           llvm::all_of(node->getResultTypes(), isFoldedType) && !index.function(node.opType()) &&
           kernels.find(op->name()) == builtinKernels().find(op->name());
  }

  /// Returns whether all inputs of a foldable node are Const nodes.
  bool isFoldedFirst(Node node) {
    return isFoldable(node) && llvm::all_of(node.data(), [](Value input) {
             Node from = definingNode(input);
             return from && from.opType() == "Const" && from.numControl() == 0;
           });
  }

  void fold(Block &body) {
    if (llvm::none_of(body.without_terminator(),
                      [&](Operation &op) { return isFoldedFirst(Node(&op)); }))
      return;
    SoftEdges soft(body);
    values.clear();
    evaluated = 0;
    std::vector<Operation *> order = topologicalOrder(body);
    for (Operation *op : order)
      if (Node::isNode(op) && isFoldable(Node(op)))
        evaluateNode(Node(op));
    for (Operation *op : llvm::reverse(order)) // users first
      if (auto found = values.find(op); found != values.end() && !replace(Node(op), found->second))
        values.erase(op);
    for (Operation *op : llvm::reverse(order))
      if (values.contains(op))
        op->erase();
  }

private:
  Tensor valueOf(Value value) {
    if (auto found = values.find(value.getDefiningOp()); found != values.end())
      return found->second[cast<OpResult>(value).getResultNumber()];
    Node node = definingNode(value);
    return node && node.numControl() == 0 ? constants.valueOf(value) : Tensor();
  }

  void evaluateNode(Node node) {
    std::vector<Tensor> inputs;
    int64_t bytes = 0;
    for (Value input : node.data()) {
      Tensor value = valueOf(input);
      if (!value || (bytes += static_cast<int64_t>(value.bytes())) > maxInputBytes)
        return;
      inputs.push_back(std::move(value));
    }
    if (evaluated > maxEvaluatedBytes || expectedBytes(node, inputs) > maxResultBytes)
      return;
    Expected<std::vector<Tensor>> outputs = evaluate(node, std::move(inputs));
    if (!outputs || llvm::any_of(*outputs, [](const Tensor &output) {
          return !output || static_cast<int64_t>(output.bytes()) > maxResultBytes;
        }))
      return;
    for (const Tensor &output : *outputs)
      evaluated += static_cast<int64_t>(output.bytes());
    values[node.getOperation()] = std::move(*outputs);
  }

  /// Returns whether compiled code should compute the value rather than load it.
  bool isSpread(Node node, const Tensor &value) {
    if (!lookupOp(node.opType())->facts().movesElements ||
        static_cast<int64_t>(value.bytes()) <= maxSpreadBytes)
      return false;
    return llvm::all_of(node.data(), [&](Value input) {
      return static_cast<int64_t>(valueOf(input).bytes()) <= maxSpreadBytes;
    });
  }

  /// Replaces the results that remaining nodes use. Returns false if the node must stay for them.
  bool replace(Node node, ArrayRef<Tensor> outputs) {
    auto remains = [&](OpOperand &use) { return !values.contains(use.getOwner()); };
    if (!node.controlResult().use_empty())
      return false;
    int64_t bytes = 0;
    for (auto [i, result] : llvm::enumerate(node.results())) {
      if (llvm::none_of(result.getUses(), remains))
        continue;
      bytes += static_cast<int64_t>(outputs[i].bytes());
      if (isSpread(node, outputs[i]) || folded + bytes > maxPlanBytes ||
          !tf_type::areCompatible(result.getType(), typeOf(outputs[i], node->getContext())))
        return false;
    }
    OpBuilder builder(node.getOperation());
    for (auto [i, result] : llvm::enumerate(node.results())) {
      if (llvm::none_of(result.getUses(), remains))
        continue;
      std::string name = i ? str(node.name().str(), "/folded", i) : node.name().str();
      result.replaceUsesWithIf(buildConst(builder, name, outputs[i], node, {})->getResult(0),
                               remains);
    }
    folded += bytes;
    return true;
  }

  const ModuleIndex &index;
  const KernelRegistry &kernels;
  Constants constants;
  DenseMap<Operation *, std::vector<Tensor>> values; // of the nodes that can be folded
  int64_t evaluated = 0, folded = 0;                 // bytes
};

} // namespace

void foldPlanConstants(PrunedSubgraph &part, const ModuleIndex &index,
                       const KernelRegistry &kernels) {
  PlanConstants folding(index, kernels);
  auto mayFold = [&](Node node) {
    return node->getNumRegions() != 0 || folding.isFoldedFirst(node);
  };
  if (!part.hasNode(mayFold))
    return;
  forEachRegionBody(part.copyNodes(), [&](Block &body) { folding.fold(body); });
  folding.fold(part.copyNodes());
}

} // namespace treadle::tfg
