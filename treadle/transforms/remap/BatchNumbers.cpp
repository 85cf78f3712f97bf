#include "treadle/transforms/remap/Remap.h"

#include "treadle/ops/OpTable.h"
#include "treadle/transforms/topological_sort/TopologicalSort.h"

using namespace mlir;

namespace treadle::tfg {

bool BatchNumbers::areSame(Value a, Value b) {
  if (numbers.empty())
    for (Operation *op : topologicalOrder(fuser.scope.body))
      if (Node::isNode(op) && fuser.producer(op->getResult(0)))
        numbers[op->getResult(0)] = batchNumber(Node(op));
  auto x = numbers.find(a), y = numbers.find(b);
  return a == b || (x != numbers.end() && y != numbers.end() && x->second == y->second);
}

unsigned BatchNumbers::batchNumber(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, next);
  next += isNew;
  return entry->second;
}

unsigned BatchNumbers::batchNumber(Node node) {
  static const llvm::StringSet<> ofFirst = {"Conv2D",           "DepthwiseConv2dNative",
                                            "BiasAdd",          "LeakyRelu",
                                            "MaxPool",          "_MaxPool",
                                            "AvgPool",          "FusedBatchNorm",
                                            "FusedBatchNormV2", "FusedBatchNormV3"};
  StringRef op = node.opType();
  if (node.numData() == 0)
    return next++;
  bool isRows = op == "MatMul" && node.attr<BoolAttr>("transpose_a") && !flag(node, "transpose_a");
  if (ofFirst.contains(op) || isRows || (op == "Pad" && padsNoBatch(node)))
    return batchNumber(node->getOperand(0));
  const OpDef *def = lookupOp(op);
  return def && !def->elementwise().empty() ? numberOfElements(node) : next++;
}

bool BatchNumbers::padsNoBatch(Node node) const {
  auto sizes = fuser.scope.constants.integersOf(fuser.source(node->getOperand(1)));
  return sizes && sizes->size() > 1 && (*sizes)[0] == 0 && (*sizes)[1] == 0;
}

/// Operands that are broadcast along the batch don't count.
unsigned BatchNumbers::numberOfElements(Node node) {
  RankedTensorType result = rankedTypeOf(node->getResult(0));
  std::optional<unsigned> number;
  for (Value value : node.data()) {
    RankedTensorType type = rankedTypeOf(value);
    bool isForAll =
        node.numData() > 1 && type && result &&
        (type.getRank() < result.getRank() || (type.getRank() > 0 && type.getDimSize(0) == 1));
    if (!isForAll && number.value_or(batchNumber(value)) != batchNumber(value))
      return next++;
    if (!isForAll)
      number = batchNumber(value);
  }
  return number ? *number : next++;
}

} // namespace treadle::tfg
