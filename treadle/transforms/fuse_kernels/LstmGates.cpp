// Finds the gates of long short-term memories: c' = f * c + i * g and h = o * tanh(c'), with
// f, i and o sigmoids and g a hyperbolic tangent of four parts of one tensor.
#include "treadle/rewriting/SoftEdges.h"
#include "treadle/transforms/fuse_kernels/FuseKernels.h"

#include "llvm/ADT/SetVector.h"

#include <array>

using namespace mlir;

namespace treadle::tfg {
namespace {

enum Gate : uint8_t { Input, Forget, Cell, Output };

/// What was found. `within`: nodes that nobody else may see.
struct Gates {
  Value sums, bias, cell; // perhaps no bias
  Node nextCell, output, split;
  int64_t axis = 0;
  float forgetBias = 0;
  std::array<int64_t, 4> part = {-1, -1, -1, -1}; // of the input, forget, cell and output gate
  llvm::SmallSetVector<Operation *, 16> within;
};

using Pair = std::array<Value, 2>;

class Finder {
public:
  explicit Finder(const FusionScope &scope) : scope(scope) {}
  std::optional<Gates> find(Node output);

private:
  /// The node that gives `value`, if it is one of this op in float32 that waits for nothing else.
  Node get(Value value, StringRef op, unsigned numData) const {
    Node node = scope.producer(value, op);
    auto isFloat = [](Value v) { return getElementTypeOrSelf(v.getType()).isF32(); };
    bool fits = node && node.numControl() == 0 && node.numData() == numData && isFloat(value);
    return fits ? node : Node();
  }
  Node function(Value value, StringRef op) const { return get(value, op, 1); }
  Node product(Value value) const { return get(value, "Mul", 2); }
  Node sum(Value value) const {
    Node node = get(value, "AddV2", 2);
    return node ? node : get(value, "Add", 2);
  }
  Tensor constant(Value value) const {
    Node node = scope.producer(value, "Const");
    return node && !scope.isKept(node) ? scope.constants.valueOf(value) : Tensor();
  }

  /// The inputs of a commutative op, one for which `isFirst` holds first; nothing if it holds for
  /// none.
  template <typename Fn> static std::optional<Pair> operands(Node node, Fn isFirst) {
    Value a = node->getOperand(0), b = node->getOperand(1);
    if (isFirst(a))
      return Pair{a, b};
    if (isFirst(b))
      return Pair{b, a};
    return std::nullopt;
  }

  /// Whether nodes alone read the node's results, that many times.
  bool isReadBy(Node node, unsigned numReaders) const {
    unsigned found = 0;
    for (OpOperand &use : node->getUses()) {
      if (isControl(use.get()) || !Node::isNode(use.getOwner()))
        return false;
      ++found;
    }
    return found == numReaders && !scope.isKept(node);
  }
  bool take(Gates &gates, Node node, unsigned numReaders = 1) const {
    gates.within.insert(node.getOperation());
    return isReadBy(node, numReaders);
  }
  bool takeGate(Gates &gates, Gate gate, Value value) const;
  bool takeForgetBias(Gates &gates, Value &part) const;
  bool takeNextCell(Gates &gates) const;
  bool takeSums(Gates &gates) const;

  const FusionScope &scope;
};

// f may be sigmoid(part + number).
bool Finder::takeForgetBias(Gates &gates, Value &part) const {
  Node added = sum(part);
  if (!added)
    return true;
  auto parts = operands(added, [&](Value v) {
    Tensor value = get(v, "Const", 0) ? constant(v) : Tensor();
    return value && value.isScalar() && value.dtype() == DType::Float32;
  });
  if (!parts || !take(gates, added))
    return false;
  gates.forgetBias = constant((*parts)[0]).scalarValue<float>();
  part = (*parts)[1];
  return true;
}

// `value` is the gate's function of a part of the split.
bool Finder::takeGate(Gates &gates, Gate gate, Value value) const {
  Node node = function(value, gate == Cell ? "Tanh" : "Sigmoid");
  if (!node || !take(gates, node))
    return false;
  Value part = node->getOperand(0);
  if (gate == Forget && !takeForgetBias(gates, part))
    return false;
  auto result = dyn_cast<OpResult>(part);
  if (!result || (gates.split && result.getOwner() != gates.split.getOperation()))
    return false;
  gates.split = Node(result.getOwner());
  gates.part[gate] = result.getResultNumber();
  return llvm::count(gates.part, gates.part[gate]) == 1;
}

// c' = f * c + i * g
bool Finder::takeNextCell(Gates &gates) const {
  auto isSigmoid = [&](Value v) { return static_cast<bool>(function(v, "Sigmoid")); };
  auto isNew = [&](Value v) {
    Node node = product(v);
    return node &&
           (function(node->getOperand(0), "Tanh") || function(node->getOperand(1), "Tanh")) &&
           operands(node, isSigmoid);
  };
  auto parts = operands(gates.nextCell, isNew);
  Node fresh = parts ? product((*parts)[0]) : Node(), old = parts ? product((*parts)[1]) : Node();
  if (!fresh || !old || !take(gates, fresh) || !take(gates, old))
    return false;
  auto added = operands(fresh, isSigmoid);
  auto kept = operands(old, [&](Value v) {
    Node node = function(v, "Sigmoid");
    return node && isReadBy(node, 1);
  });
  if (!added || !kept)
    return false;
  gates.cell = (*kept)[1];
  return takeGate(gates, Input, (*added)[0]) && takeGate(gates, Cell, (*added)[1]) &&
         takeGate(gates, Forget, (*kept)[0]);
}

// The split itself, and a bias before it.
bool Finder::takeSums(Gates &gates) const {
  constexpr unsigned numGates = 4;
  Node split = gates.split;
  if (split->getResult(0).use_empty() || !get(split->getResult(0), "Split", 2) ||
      split.numResults() != numGates || !take(gates, split, numGates))
    return false;
  Tensor axis = constant(split->getOperand(0));
  if (!axis || axis.dtype() != DType::Int32 || !axis.isScalar())
    return false;
  gates.axis = axis.scalarValue<int32_t>();
  gates.sums = split->getOperand(1);
  Node bias = get(gates.sums, "BiasAdd", 2);
  auto format = bias ? bias.attr<StringAttr>("data_format") : StringAttr();
  if (bias && isReadBy(bias, 1) && scope.exchanges.areAlike(bias, gates.output) &&
      (!format || format.getValue() == "NHWC")) {
    gates.within.insert(bias.getOperation());
    gates.bias = bias->getOperand(1);
    gates.sums = bias->getOperand(0);
  }
  return true;
}

std::optional<Gates> Finder::find(Node output) {
  Gates gates;
  gates.output = output;
  if (scope.isKept(output) || output.numResults() == 0 || !product(output->getResult(0)))
    return std::nullopt;
  auto parts = operands(output, [&](Value v) {
    Node tanh = function(v, "Tanh");
    return tanh && sum(tanh->getOperand(0));
  });
  if (!parts)
    return std::nullopt;
  Node tanh = function((*parts)[0], "Tanh");
  gates.nextCell = sum(tanh->getOperand(0));
  if (!take(gates, tanh) || scope.isKept(gates.nextCell) || !takeNextCell(gates) ||
      !takeGate(gates, Output, (*parts)[1]) || !takeSums(gates) ||
      !scope.exchanges.areAlike(gates.nextCell, output) ||
      !llvm::all_of(gates.within,
                    [&](Operation *op) { return scope.exchanges.areAlike(Node(op), output); }))
    return std::nullopt;
  return gates;
}

void fuse(const Gates &gates) {
  Node cell = gates.nextCell, output = gates.output;
  OpBuilder builder(cell.getOperation());
  SmallVector<Value> inputs = {gates.sums, gates.cell};
  if (gates.bias)
    inputs.push_back(gates.bias);
  Node fused = NodeBuilder(builder, "_FusedLstmGates")
                   .name(cell.name())
                   .placedAs(cell)
                   .attr("axis", builder.getI64IntegerAttr(gates.axis))
                   .attr("forget_bias", builder.getF32FloatAttr(gates.forgetBias))
                   .attr("gates", builder.getI64ArrayAttr(gates.part))
                   .inputs(inputs)
                   .results({cell->getResult(0).getType(), output->getResult(0).getType()})
                   .build();
  auto replace = [&](Node node, unsigned result) {
    node->getResult(0).replaceAllUsesWith(fused->getResult(result));
    replaceControl(node.controlResult(), fused.controlResult());
    SoftEdges::merge(node, fused);
  };
  replace(output, 1);
  output->erase();
  for (Operation *op : gates.within) {
    SoftEdges::merge(Node(op), fused);
    op->dropAllReferences();
  }
  replace(cell, 0);
  cell->erase();
  for (Operation *op : gates.within)
    op->erase();
}

} // namespace

void fuseLstmGates(const FusionScope &scope) {
  // Each ends in a product; what a group takes in is no end of another.
  SmallVector<Node> products;
  bool hasSplit = false;
  for (Operation &op : scope.body)
    if (Node::isNode(&op)) {
      hasSplit |= Node(&op).opType() == "Split";
      if (Node(&op).opType() == "Mul")
        products.emplace_back(&op);
    }
  if (!hasSplit)
    return;
  llvm::DenseSet<Operation *> gone;
  for (Node node : products) {
    if (gone.contains(node.getOperation()))
      continue;
    if (std::optional<Gates> gates = Finder(scope).find(node)) {
      gone.insert(gates->within.begin(), gates->within.end());
      fuse(*gates);
    }
  }
}

} // namespace treadle::tfg
