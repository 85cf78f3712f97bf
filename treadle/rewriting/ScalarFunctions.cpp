#include "treadle/rewriting/ScalarFunctions.h"

#include "treadle/dialect/NodeAttributes.h"
#include "treadle/ops/OpTable.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <optional>

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
  llvm::DenseMap<Operation *, bool> known; // false during its analysis
};

bool hasShape(Value value) { return isa<RankedTensorType>(value.getType()); }

bool ElementwiseFunctions::contains(FuncOp function) {
  if (!function || function.isExternal() || function.getGeneric())
    return false;
  if (auto [it, isNew] = known.try_emplace(function, false); !isNew)
    return it->second;
  llvm::DenseSet<Value> varying; // values that depend on the arguments
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

/// Returns whether both types are known and their elements have the same size.
bool haveSameElementSize(Type a, Type b) {
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
           haveSameElementSize(node.data()[0].getType(), node.results()[0].getType());
  if (opKind(op) == OpKind::Call) {
    auto callee = node.attr<tf_type::FuncAttr>("f");
    return callee && contains(functionOf(callee.getName().getRootReference().getValue()));
  }
  const OpDef *def = lookupOp(op);
  return def && (!def->elementwise().empty() || def->facts().isPointwise) &&
         !def->facts().allowsRowCondition;
}

/// Returns the computation of an elementwise op; empty for other ops and for function calls.
StringRef elementwiseForm(Node node, FunctionOfName functionOf) {
  const OpDef *def = node && !functionOf(node.opType()) ? lookupOp(node.opType()) : nullptr;
  return def ? StringRef(def->elementwise()) : StringRef();
}

/// Returns the value before Identity nodes, which `numNodes` counts.
Value lookThroughIdentities(Value value, FunctionOfName functionOf, size_t &numNodes) {
  Node node = definingNode(value);
  while (elementwiseForm(node, functionOf) == "identity" && node.numData() == 1) {
    ++numNodes;
    value = node.data()[0];
    node = definingNode(value);
  }
  return value;
}

/// Returns the only result of a function of two arguments, if all three have the same element type;
/// else null.
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

/// Returns whether both values are the same result of equal nodes with equal inputs.
bool areSameResult(OpResult first, OpResult second) {
  Node a(first.getOwner()), b(second.getOwner());
  auto isStated = [](NamedAttribute attr) { return !isAboutNode(attr.getName()); };
  return a.opType() == b.opType() && a.numData() == b.numData() &&
         first.getResultNumber() == second.getResultNumber() &&
         a->getResultTypes() == b->getResultTypes() &&
         llvm::equal(llvm::make_filter_range(a.attrs(), isStated),
                     llvm::make_filter_range(b.attrs(), isStated));
}

/// A function of two rows that returns whether the first precedes the second. Its arguments are,
/// for each column, the element of the first row and that of the second.
class Comparator {
public:
  explicit Comparator(FunctionOfName functionOf) : functionOf(functionOf) {}

  /// Returns the keys that a predicate compares one after the other; empty if it does anything
  /// else.
  SmallVector<SortKey> keysOf(Value predicate);

private:
  /// The most significant key, and the predicate for rows with equal keys; null if these are equal.
  struct Step {
    SortKey key;
    Value rest;
  };
  std::optional<Step> stepOf(Value predicate);
  std::optional<SortKey> keyOf(Value less);
  bool isTest(StringRef form, Value value, const SortKey &key);
  Node nodeOf(Value value, StringRef form);

  FunctionOfName functionOf;
};

/// Returns the row that `value` is computed from, if `other` is the same expression of the same row
/// or, with `isMirrored`, of the other row.
std::optional<unsigned> rowOf(Value value, Value other, bool isMirrored) {
  constexpr size_t maxPairs = 4096; // comparators are small
  llvm::SetVector<std::pair<Value, Value>> pairs;
  pairs.insert({value, other});
  std::optional<unsigned> row;
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto [a, b] = pairs[i];
    if (a.getDefiningOp() && b.getDefiningOp()) {
      if (!areSameResult(cast<OpResult>(a), cast<OpResult>(b)) || pairs.size() > maxPairs)
        return std::nullopt;
      for (auto [x, y] : llvm::zip(definingNode(a).data(), definingNode(b).data()))
        pairs.insert({x, y});
      continue;
    }
    auto first = dyn_cast<BlockArgument>(a), second = dyn_cast<BlockArgument>(b);
    if (!first || !second)
      return std::nullopt;
    // Each data argument is followed by its control argument.
    unsigned number = first.getArgNumber() / 2, expected = number ^ (isMirrored ? 1U : 0U);
    if (second.getArgNumber() / 2 != expected || row.value_or(number % 2) != number % 2)
      return std::nullopt;
    row = number % 2;
  }
  return row;
}

/// Returns the op that computes the value if it has this form.
Node Comparator::nodeOf(Value value, StringRef form) {
  Node node = definingNode(value);
  bool isIt =
      elementwiseForm(node, functionOf) == form && node.numData() == (form == "select" ? 3U : 2U);
  return isIt ? node : Node();
}

std::optional<SortKey> Comparator::keyOf(Value less) {
  Node node = nodeOf(less, "less");
  bool isDescending = !node;
  if (isDescending)
    node = nodeOf(less, "greater");
  std::optional<unsigned> row =
      node ? rowOf(node.data()[0], node.data()[1], /*isMirrored=*/true) : std::nullopt;
  if (!row)
    return std::nullopt;
  return SortKey{node.data()[0], isDescending != (*row == 1)};
}

/// Returns whether the value compares the key of both rows with an op of this form.
bool Comparator::isTest(StringRef form, Value value, const SortKey &key) {
  Node node = nodeOf(value, form);
  return node && rowOf(node.data()[0], node.data()[1], /*isMirrored=*/true) &&
         llvm::any_of(node.data(), [&](Value side) { return rowOf(side, key.value, false); });
}

/// a < b; or a < b | (a == b & rest), in any order; or a == b ? rest : a < b.
std::optional<Comparator::Step> Comparator::stepOf(Value predicate) {
  if (std::optional<SortKey> key = keyOf(predicate))
    return Step{*key, {}};
  if (Node either = nodeOf(predicate, "logical_or"))
    for (unsigned side : {0, 1}) {
      std::optional<SortKey> key = keyOf(either.data()[side]);
      Node both = nodeOf(either.data()[1 - side], "logical_and");
      for (unsigned tie : {0, 1})
        if (key && both && isTest("equal", both.data()[tie], *key))
          return Step{*key, both.data()[1 - tie]};
    }
  if (Node choice = nodeOf(predicate, "select"))
    for (auto [form, tied] : {std::pair("equal", 1), std::pair("not_equal", 2)})
      if (std::optional<SortKey> key = keyOf(choice.data()[3 - tied]);
          key && isTest(form, choice.data()[0], *key))
        return Step{*key, choice.data()[tied]};
  return std::nullopt;
}

SmallVector<SortKey> Comparator::keysOf(Value predicate) {
  SmallVector<SortKey> keys;
  while (predicate) {
    std::optional<Step> step = stepOf(predicate);
    if (!step)
      return {};
    keys.push_back(step->key);
    predicate = step->rest;
  }
  return keys;
}

/// A function of two pairs, (a, i) and (b, j), that returns one of them.
class PairChoice {
public:
  PairChoice(FuncOp function, FunctionOfName functionOf)
      : function(function), functionOf(functionOf), a(function.getDataArgument(0)),
        i(function.getDataArgument(1)), b(function.getDataArgument(2)),
        j(function.getDataArgument(3)) {}

  std::optional<ExtremePosition> extreme() {
    Node value = choiceOf(0, a, b), position = choiceOf(1, i, j);
    if (!value || !position || !isTakenWith(value.data()[0], position.data()[0]))
      return std::nullopt;
    return comparison(value.data()[0]);
  }

private:
  Value result(Value value) {
    size_t numNodes = 0;
    return lookThroughIdentities(value, functionOf, numNodes);
  }
  Node nodeOf(Value value, StringRef form, size_t numInputs) {
    Node node = definingNode(value);
    return elementwiseForm(node, functionOf) == form && node.numData() == numInputs ? node : Node();
  }
  bool isOf(Value value, StringRef form, Value x, Value y) {
    Node node = nodeOf(value, form, 2);
    return node && node.data()[0] == x && node.data()[1] == y;
  }

  /// Returns the node that selects the first or the second as a result of the function.
  Node choiceOf(unsigned number, Value first, Value second) {
    Node node = nodeOf(result(function.getReturn()->getOperand(number)), "select", 3);
    return node && node.data()[1] == first && node.data()[2] == second ? node : Node();
  }

  /// Whether the position is taken with the value, or for equal values if it is smaller.
  bool isTakenWith(Value wins, Value picks) {
    Node either = nodeOf(picks, "logical_or", 2);
    for (unsigned side : {0, 1}) {
      Node tie = either && either.data()[side] == wins
                     ? nodeOf(either.data()[1 - side], "logical_and", 2)
                     : Node();
      for (unsigned first : {0, 1})
        if (tie &&
            (isOf(tie.data()[first], "equal", a, b) || isOf(tie.data()[first], "equal", b, a)) &&
            (isOf(tie.data()[1 - first], "less", i, j) ||
             isOf(tie.data()[1 - first], "greater", j, i)))
          return true;
    }
    return false;
  }

  /// a > b, or a > b | a != a; and the same for smaller values.
  std::optional<ExtremePosition> comparison(Value wins) {
    if (isOf(wins, "greater", a, b) || isOf(wins, "less", b, a))
      return ExtremePosition{.isGreatest = true};
    if (isOf(wins, "less", a, b) || isOf(wins, "greater", b, a))
      return ExtremePosition{.isGreatest = false};
    Node either = nodeOf(wins, "logical_or", 2);
    for (unsigned side : {0, 1})
      if (either && isOf(either.data()[side], "not_equal", a, a))
        if (std::optional<ExtremePosition> plain = comparison(either.data()[1 - side]);
            plain && !plain->prefersNan)
          return ExtremePosition{plain->isGreatest, /*prefersNan=*/true};
    return std::nullopt;
  }

  FuncOp function;
  FunctionOfName functionOf;
  Value a, i, b, j;
};

} // namespace

bool isElementwise(FuncOp function, FunctionOfName functionOf) {
  return ElementwiseFunctions(functionOf).contains(function);
}

bool returnsSecond(FuncOp function, FunctionOfName functionOf) {
  Value result = resultOfTwo(function);
  size_t numNodes = 0;
  return result &&
         lookThroughIdentities(result, functionOf, numNodes) == function.getDataArgument(1) &&
         numNodes == numNodesOf(function);
}

StringRef combinationOf(FuncOp function, FunctionOfName functionOf) {
  Value result = resultOfTwo(function);
  size_t numNodes = 1;
  Node node = result ? definingNode(lookThroughIdentities(result, functionOf, numNodes)) : Node();
  StringRef form = elementwiseForm(node, functionOf);
  if (form.empty() || node.numData() != 2 || numNodes != numNodesOf(function))
    return {};
  Value first = function.getDataArgument(0), second = function.getDataArgument(1);
  Value a = node.data()[0], b = node.data()[1];
  // The extreme of two zeros is the first of them.
  bool commutes = form != "minimum" && form != "maximum";
  return (a == first && b == second) || (commutes && a == second && b == first) ? form
                                                                                : StringRef();
}

std::optional<ExtremePosition> extremePositionOf(FuncOp function, FunctionOfName functionOf) {
  if (!function || function.isExternal() || function.getGeneric() ||
      function.getNumDataArguments() != 4 || function.getResultTypes().size() != 2)
    return std::nullopt;
  return PairChoice(function, functionOf).extreme();
}

SmallVector<SortKey> sortKeysOf(FuncOp comparator, FunctionOfName functionOf) {
  if (!isElementwise(comparator, functionOf) || comparator.getResultTypes().size() != 1)
    return {};
  size_t numNodes = 0;
  Value result = comparator.getReturn()->getOperand(0);
  return Comparator(functionOf).keysOf(lookThroughIdentities(result, functionOf, numNodes));
}

} // namespace treadle::tfg
