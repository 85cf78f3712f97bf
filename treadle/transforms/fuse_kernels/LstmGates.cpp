// Finds the gates of LSTMs: c' = f * c + i * g and h = o * tanh(c'), where f, i and o are sigmoids
// and g a tanh of four parts of one tensor.
#include "treadle/transforms/fuse_kernels/Formula.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

constexpr unsigned numGates = 4;

/// A match. `within` are nodes that must have no other uses.
struct Gates {
  Value sums, bias, cell; // null if there is no bias
  Node nextCell, output;
  int64_t axis = 0;
  float forgetBias = 0;
  SmallVector<int64_t> part; // parts for the input, forget, cell and output gate
  NodeSet within;
};

bool isSplit(Node node) { return node.opType() == "Split" && node.numResults() == numGates; }

/// Returns the Split if its four results are the gates' parts and have no other users; else null.
Node splitOf(ArrayRef<Value> parts, SmallVector<int64_t> &numbers) {
  Node split = definingNode(parts[0]);
  if (!split || !isSplit(split) || !isFloat32(parts[0]) || split.numData() != 2)
    return {};
  for (Value part : parts) {
    if (part.getDefiningOp() != split.getOperation() || !part.hasOneUse())
      return {};
    numbers.push_back(cast<OpResult>(part).getResultNumber());
  }
  return split;
}

/// Adds the split and a bias before it.
bool takeSums(const Fuser &fuser, Node split, Gates &gates) {
  Tensor axis = fuser.scope.constants.valueOf(split->getOperand(0));
  if (!axis || axis.dtype() != DType::Int32 || !axis.isScalar())
    return false;
  gates.axis = axis.scalarValue<int32_t>();
  gates.sums = split->getOperand(1);
  gates.within.insert(split.getOperation());
  Node bias = fuser.scope.producer(gates.sums, "BiasAdd");
  if (bias && bias.numData() == 2 && !bias.numControl() && isFloat32(gates.sums) &&
      fuser.follower(gates.output, bias) && formatOf(bias) == "NHWC") {
    gates.within.insert(bias.getOperation());
    gates.bias = bias->getOperand(1);
    gates.sums = bias->getOperand(0);
  }
  return true;
}

std::optional<Gates> find(const Fuser &fuser, Node output) {
  static const Formula formula(
      "Sigmoid(o) * Tanh(next); next = new + old; new = Sigmoid(i) * Tanh(g)"
      "; old = Sigmoid(f) * cell | Sigmoid(f + $bias) * cell");
  Gates gates;
  bool matches = formula.match(fuser, output, [&](const Formula::Match &match) {
    gates = {};
    gates.output = output;
    gates.nextCell = definingNode(match["next"]);
    gates.cell = match["cell"];
    gates.forgetBias = static_cast<float>(match.number("bias", 0));
    gates.within = match.nodes;
    Node split = splitOf({match["i"], match["f"], match["g"], match["o"]}, gates.part);
    return split && takeSums(fuser, split, gates) &&
           fuser.canFuse(output, gates.within, gates.nextCell) &&
           llvm::all_of(gates.within, [](Operation *op) { return !Node(op).numControl(); });
  });
  return matches ? std::optional(gates) : std::nullopt;
}

void fuse(Fuser &fuser, const Gates &gates) {
  Node cell = gates.nextCell, output = gates.output;
  OpBuilder builder(cell.getOperation());
  SmallVector<Value> inputs = {gates.sums, gates.cell};
  if (gates.bias)
    inputs.push_back(gates.bias);
  Node fused = NodeBuilder(builder, "_FusedLstmGates")
                   .placedAs(cell)
                   .attr("axis", builder.getI64IntegerAttr(gates.axis))
                   .attr("forget_bias", builder.getF32FloatAttr(gates.forgetBias))
                   .attr("gates", builder.getI64ArrayAttr(gates.part))
                   .inputs(inputs)
                   .results({cell->getResult(0).getType(), output->getResult(0).getType()})
                   .build();
  cell->getResult(0).replaceAllUsesWith(fused->getResult(0));
  replaceControl(cell.controlResult(), fused.controlResult());
  fuser.replace(output, fused, gates.within, cell, 1);
}

} // namespace

void fuseLstmGates(const FusionScope &scope) {
  if (nodesOf(scope.body, isSplit).empty())
    return;
  // Each match ends in a product; products inside a match aren't visited again.
  Fuser fuser(scope);
  auto isProduct = [&](Node node) { return node.opType() == "Mul" && !scope.isKept(node); };
  for (Node node : nodesOf(scope.body, isProduct))
    if (!fuser.isTaken(node))
      if (std::optional<Gates> gates = find(fuser, node))
        fuse(fuser, *gates);
}

} // namespace treadle::tfg
