#include "treadle/rewriting/ScalarFunctions.h"

#include "treadle/ops/OpTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace treadle::tfg {
namespace {

class ElementwiseFunctions {
public:
  explicit ElementwiseFunctions(FunctionOfName functionOf) : functionOf(functionOf) {}

  bool contains(FuncOp function);

private:
  bool contains(Node node, llvm::DenseSet<Value> &varying);
  bool isElementwiseOp(Node node);

  FunctionOfName functionOf;
  llvm::DenseMap<Operation *, bool> known; // being looked into: false
};

bool hasShape(Value value) { return isa<RankedTensorType>(value.getType()); }

bool ElementwiseFunctions::contains(FuncOp function) {
  if (!function || function.isExternal() || function.getGeneric())
    return false;
  if (auto [it, isNew] = known.try_emplace(function, false); !isNew)
    return it->second;
  llvm::DenseSet<Value> varying; // what depends on the arguments
  for (unsigned i = 0; i < function.getNumDataArguments(); ++i)
    varying.insert(function.getDataArgument(i));
  bool holds = llvm::none_of(varying, hasShape) &&
               llvm::all_of(function.getEntry().without_terminator(), [&](Operation &op) {
                 return Node::isNode(&op) && contains(Node(&op), varying);
               });
  return known[function] = holds;
}

bool ElementwiseFunctions::contains(Node node, llvm::DenseSet<Value> &varying) {
  if (llvm::any_of(node.data(), [&](Value value) { return varying.contains(value); })) {
    if (llvm::any_of(node.results(), hasShape))
      return false;
    varying.insert_range(node.results());
  }
  return isElementwiseOp(node);
}

/// Whether both types are known, and their elements have one size.
bool haveElementsOfOneSize(Type a, Type b) {
  Type from = getElementTypeOrSelf(a), to = getElementTypeOrSelf(b);
  return from.isIntOrFloat() && to.isIntOrFloat() &&
         from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth();
}

bool ElementwiseFunctions::isElementwiseOp(Node node) {
  StringRef op = node.opType();
  if (FuncOp callee = functionOf(op))
    return contains(callee);
  if (op == "Const") {
    auto value = node.attr<ElementsAttr>("value");
    return value && value.getShapedType().getRank() == 0;
  }
  if (op == "Bitcast")
    return node.numData() == 1 && node.numResults() == 1 &&
           haveElementsOfOneSize(node.data()[0].getType(), node.results()[0].getType());
  if (opKind(op) == OpKind::Call) {
    auto callee = node.attr<tf_type::FuncAttr>("f");
    return callee && contains(functionOf(callee.getName().getRootReference().getValue()));
  }
  const OpDef *def = lookupOp(op);
  // The condition of a Select doesn't broadcast as other inputs do.
  return def && !def->elementwise().empty() && op != "Select";
}

/// What an identity hands on, of the nodes that `numNodes` counts.
Value behindIdentities(Value value, FunctionOfName functionOf, size_t &numNodes) {
  Node node = definingNode(value);
  while (node && node.numData() == 1 && !functionOf(node.opType()) && lookupOp(node.opType()) &&
         lookupOp(node.opType())->elementwise() == "identity") {
    ++numNodes;
    value = node.data()[0];
    node = definingNode(value);
  }
  return value;
}

/// The only result of a function of two arguments, all three of one type of elements; else null.
Value resultOfTwo(FuncOp function) {
  if (!function || function.isExternal() || function.getGeneric() ||
      function.getNumDataArguments() != 2 || function.getResultTypes().size() != 1)
    return {};
  Value result = function.getReturn()->getOperand(0);
  Type element = getElementTypeOrSelf(result.getType());
  for (unsigned i = 0; i < 2; ++i)
    if (getElementTypeOrSelf(function.getDataArgument(i).getType()) != element)
      return {};
  return result;
}

size_t numNodesOf(FuncOp function) {
  auto nodes = function.getEntry().without_terminator();
  return static_cast<size_t>(std::distance(nodes.begin(), nodes.end()));
}

} // namespace

bool isElementwise(FuncOp function, FunctionOfName functionOf) {
  return ElementwiseFunctions(functionOf).contains(function);
}

bool returnsSecond(FuncOp function, FunctionOfName functionOf) {
  Value result = resultOfTwo(function);
  size_t numNodes = 0;
  return result && behindIdentities(result, functionOf, numNodes) == function.getDataArgument(1) &&
         numNodes == numNodesOf(function);
}

bool returnsSum(FuncOp function, FunctionOfName functionOf) {
  Value result = resultOfTwo(function);
  size_t numNodes = 1;
  Node sum = result ? definingNode(behindIdentities(result, functionOf, numNodes)) : Node();
  const OpDef *def = sum && !functionOf(sum.opType()) ? lookupOp(sum.opType()) : nullptr;
  if (!def || def->elementwise() != "add" || sum.numData() != 2 || numNodes != numNodesOf(function))
    return false;
  Value first = function.getDataArgument(0), second = function.getDataArgument(1);
  Value a = sum.data()[0], b = sum.data()[1];
  return (a == first && b == second) || (a == second && b == first);
}

} // namespace treadle::tfg
