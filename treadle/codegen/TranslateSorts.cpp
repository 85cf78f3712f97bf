// Translates sorts of short rows: the rank of an element is the number of elements before it.
// Counting needs a comparison for each pair, but is vectorized and has no branches. If only the
// first few elements are used, the best so far are kept in registers.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/ScalarBody.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"
#include "treadle/rewriting/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Longer rows are sorted faster by merging.
constexpr int64_t maxRowLength = 256;

/// Whether the comparator is known to be a total order: its keys are integers.
bool ordersAll(Translator &t, tfg::Node node) {
  SmallVector<tfg::SortKey> keys = tfg::sortKeysOf(scalarFunction(t, node, "comparator"), t.find);
  return !keys.empty() && llvm::all_of(keys, [](const tfg::SortKey &key) {
    return isa<IntegerType>(elementOf(key.value.getType()));
  });
}

/// Counts the indices in [begin, end) for which a condition holds.
std::optional<Value> countWhere(Translator &t, Value begin, Value end,
                                llvm::function_ref<std::optional<Value>(Value)> condition) {
  Value zero = arith::ConstantOp::create(t.b, t.loc, t.b.getI32IntegerAttr(0));
  auto loop = scf::ForOp::create(t.b, t.loc, begin, end, t.index(1), zero);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(loop.getBody());
  std::optional<Value> holds = condition(loop.getInductionVar());
  Value count = loop.getRegionIterArg(0);
  if (holds)
    count = arith::AddIOp::create(t.b, t.loc, count,
                                  arith::ExtUIOp::create(t.b, t.loc, t.b.getI32Type(), *holds));
  scf::YieldOp::create(t.b, t.loc, count);
  return holds ? std::optional(loop.getResult(0)) : std::nullopt;
}

/// Returns the number of leading elements along an axis that are used, if all users are slices from
/// the start; otherwise nullopt.
std::optional<int64_t> countUsedPrefix(Translator &t, tfg::Node node, int64_t axis) {
  int64_t count = 0;
  for (Value result : node.results())
    for (Operation *user : result.getUsers()) {
      if (tfg::Node(user).opType() != "Slice" || user->getOperand(0) != result)
        return std::nullopt;
      std::optional<SmallVector<int64_t>> begins = t.constants.integersOf(user->getOperand(1)),
                                          sizes = t.constants.integersOf(user->getOperand(2));
      if (!begins || !sizes || std::ssize(*begins) <= axis || std::ssize(*sizes) <= axis ||
          (*begins)[axis] != 0 || (*sizes)[axis] < 0)
        return std::nullopt;
      count = std::max(count, (*sizes)[axis]);
    }
  return count;
}

/// Whether a row comes before another one. Takes the two elements of each column, like comparators.
using IsBefore = llvm::function_ref<std::optional<Value>(ArrayRef<Value> pairs)>;

/// Selects the first `count` elements along an axis in a given order; stable. Each element is
/// compared with the last of the best so far, which few of many elements precede.
class Selection {
public:
  Selection(Translator &t, ArrayRef<TracedValue> columns, int64_t axis, int64_t count,
            IsBefore isBefore)
      : t(t), columns(columns), type(cast<RankedTensorType>(columns[0].value.getType())),
        axis(axis), count(count), isBefore(isBefore) {
    shape.assign(type.getShape().begin(), type.getShape().end());
    shape[axis] = count;
  }

  static bool serves(RankedTensorType type, int64_t axis, int64_t count) {
    constexpr int64_t most = 8;
    return type.hasStaticShape() && 0 < count && count <= most &&
           2 * count <= type.getDimSize(axis);
  }

  /// Returns their positions in the rows, as int32; nullopt if the order isn't plain arithmetic.
  std::optional<TracedValue> places() {
    if (type.getRank() == 1) {
      std::optional<SmallVector<Value>> found = placesAt({});
      return found ? std::optional(t.vector(*found, t.b.getI32Type(), {})) : std::nullopt;
    }
    SmallVector<Value> rows;
    for (auto [i, size] : llvm::enumerate(shape))
      if (static_cast<int64_t>(i) != axis)
        rows.push_back(t.index(size));
    SmallVector<Value> sizes = t.asIndices(shape);
    Value none = arith::ConstantOp::create(t.b, t.loc, t.b.getI32IntegerAttr(0));
    Value written = writeTensor(t, t.filled(sizes, none, {}), rows, /*isParallel=*/false,
                                [&](Value tensor, ValueRange loops) {
                                  std::optional<SmallVector<Value>> found = placesAt(loops);
                                  if (!found)
                                    return false;
                                  for (auto [i, place] : llvm::enumerate(*found)) {
                                    SmallVector<Value> at =
                                        inRow(loops, t.index(static_cast<int64_t>(i)));
                                    rc::StoreOp::create(t.b, t.loc, tensor, at, place);
                                  }
                                  return true;
                                });
    return written ? std::optional(TracedValue{written, {}}) : std::nullopt;
  }

  /// Returns the elements of a column at these positions.
  TracedValue taken(const TracedValue &column, const TracedValue &places) {
    return t.generate(t.asIndices(shape), elementOf(column.value.getType()),
                      KnownValue(Shape(shape)), [&](OpBuilder &b, Location loc, ValueRange at) {
                        SmallVector<Value> place(at);
                        Value there = t.elementAt(b, loc, places, place);
                        place[axis] =
                            b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), there);
                        return t.elementAt(b, loc, column, place);
                      });
  }

private:
  SmallVector<Value> inRow(ValueRange row, Value index) const {
    SmallVector<Value> at(row);
    at.insert(at.begin() + axis, index);
    return at;
  }

  /// For one row. A position of -1 is free.
  std::optional<SmallVector<Value>> placesAt(ValueRange row) {
    OpBuilder &b = t.b;
    SmallVector<Value> start(
        count, arith::ConstantOp::create(b, t.loc, b.getI32IntegerAttr(-1)).getResult());
    for (const TracedValue &column : columns) {
      TypedAttr zero = b.getZeroAttr(computedIn(elementOf(column.value.getType())));
      Value none = reinterpreted(b, t.loc, arith::ConstantOp::create(b, t.loc, zero),
                                 elementOf(column.value.getType()));
      start.append(count, none);
    }
    auto loop =
        scf::ForOp::create(b, t.loc, t.index(0), t.index(type.getDimSize(axis)), t.index(1), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value index = loop.getInductionVar();
    SmallVector<Value> own = {
        arith::IndexCastOp::create(b, t.loc, b.getI32Type(), index).getResult()};
    for (const TracedValue &column : columns)
      own.push_back(t.elementAt(b, t.loc, column, inRow(row, index)));
    SmallVector<Value> best(loop.getRegionIterArgs());
    std::optional<Value> isAmong = comesBefore(own, best, count - 1);
    bool isMade = isAmong.has_value();
    if (isMade) {
      auto branch = scf::IfOp::create(b, t.loc, TypeRange(best), *isAmong, /*withElse=*/true);
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPointToStart(branch.thenBlock());
      std::optional<SmallVector<Value>> better = inserted(own, best, *isAmong);
      isMade = better.has_value();
      scf::YieldOp::create(b, t.loc, better ? *better : best);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, t.loc, best);
      best = branch.getResults();
    }
    b.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b, t.loc, best);
    return isMade ? std::optional(SmallVector<Value>(loop.getResults().take_front(count)))
                  : std::nullopt;
  }

  /// Whether an element precedes the one at this position of the best.
  std::optional<Value> comesBefore(ArrayRef<Value> own, ArrayRef<Value> best, int64_t place) {
    SmallVector<Value> pairs;
    for (auto [i, element] : llvm::enumerate(own.drop_front()))
      pairs.append({element, best[(static_cast<int64_t>(i) + 1) * count + place]});
    std::optional<Value> before = isBefore(pairs);
    if (!before)
      return std::nullopt;
    Value none = arith::ConstantOp::create(t.b, t.loc, t.b.getI32IntegerAttr(0));
    Value isFree = arith::CmpIOp::create(t.b, t.loc, arith::CmpIPredicate::slt, best[place], none);
    return arith::OrIOp::create(t.b, t.loc, isFree, *before).getResult();
  }

  /// Inserts an element that precedes the last of the best.
  std::optional<SmallVector<Value>> inserted(ArrayRef<Value> own, ArrayRef<Value> best,
                                             Value beforeLast) {
    SmallVector<Value> comes(count, beforeLast), result(best);
    for (int64_t place = 0; place + 1 < count; ++place) {
      std::optional<Value> before = comesBefore(own, best, place);
      if (!before)
        return std::nullopt;
      comes[place] = *before;
    }
    for (auto [i, value] : llvm::enumerate(result)) {
      auto group = static_cast<int64_t>(i) / count, place = static_cast<int64_t>(i) % count;
      value = selected(t.b, t.loc, comes[place], own[group], value);
      if (place)
        value = selected(t.b, t.loc, comes[place - 1], best[i - 1], value);
    }
    return result;
  }

  Translator &t;
  ArrayRef<TracedValue> columns;
  RankedTensorType type;
  int64_t axis, count;
  IsBefore isBefore;
  SmallVector<int64_t> shape;
};

/// Returns the largest elements of rows, and their positions.
MaybeValues topK(Translator &t, tfg::Node node, Values inputs) {
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<SmallVector<int64_t>> count = t.integers(inputs[1], 0);
  auto isSorted = node.attr<BoolAttr>("sorted");
  Type place = t.elementType(node->getResult(1));
  if (!type || type.getRank() == 0 || !count || (isSorted && !isSorted.getValue()) ||
      !place.isInteger(32) || isa<ComplexType>(type.getElementType()) ||
      !isNative(type.getElementType()) || type.getElementType().isInteger(1) ||
      !Selection::serves(type, type.getRank() - 1, count->front()))
    return std::nullopt;
  // NaN comes last.
  auto isBefore = [&](ArrayRef<Value> pair) -> std::optional<Value> {
    Type element = type.getElementType();
    Value first = reinterpreted(t.b, t.loc, pair[0], computedIn(element)),
          second = reinterpreted(t.b, t.loc, pair[1], computedIn(element));
    if (!isa<FloatType>(element))
      return arith::CmpIOp::create(t.b, t.loc,
                                   element.isUnsignedInteger() ? arith::CmpIPredicate::ugt
                                                               : arith::CmpIPredicate::sgt,
                                   first, second)
          .getResult();
    auto compare = [&](arith::CmpFPredicate how, Value x, Value y) {
      return arith::CmpFOp::create(t.b, t.loc, how, x, y).getResult();
    };
    Value isNumber = compare(arith::CmpFPredicate::ORD, first, first);
    Value isGreater = compare(arith::CmpFPredicate::UGT, first, second);
    return arith::AndIOp::create(t.b, t.loc, isNumber, isGreater).getResult();
  };
  Selection selection(t, ArrayRef(inputs).take_front(), type.getRank() - 1, count->front(),
                      isBefore);
  std::optional<TracedValue> places = selection.places();
  if (!places)
    return std::nullopt;
  return Values{selection.taken(inputs[0], *places), *places};
}

MaybeValues sort(Translator &t, tfg::Node node, Values inputs) {
  std::optional<SmallVector<int64_t>> said = t.integers(inputs.back());
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<int64_t> axis =
      axisOf(said && said->size() == 1 ? std::optional(said->front()) : std::nullopt,
             type ? type.getRank() : 0);
  ArrayRef<TracedValue> columns = ArrayRef(inputs).drop_back();
  if (!type || !axis || !type.hasStaticShape() || !ordersAll(t, node) ||
      !llvm::all_of(columns, [&](const TracedValue &column) {
        auto own = dyn_cast<RankedTensorType>(column.value.getType());
        return own && own.getShape() == type.getShape() && isNative(own.getElementType());
      }))
    return std::nullopt;
  auto comesFirst = [&](ArrayRef<Value> pairs) -> std::optional<Value> {
    std::optional<SmallVector<Value>> made = inlineScalars(t, node, "comparator", pairs);
    return made ? std::optional(made->front()) : std::nullopt;
  };
  std::optional<int64_t> count = countUsedPrefix(t, node, *axis);
  if (count && Selection::serves(type, *axis, *count)) {
    Selection selection(t, columns, *axis, *count, comesFirst);
    if (std::optional<TracedValue> places = selection.places())
      return Values(llvm::map_range(
          columns, [&](const TracedValue &column) { return selection.taken(column, *places); }));
  }
  if (type.getDimSize(*axis) > maxRowLength)
    return std::nullopt;
  auto isBefore = [&](SmallVector<Value> first, SmallVector<Value> second) {
    SmallVector<Value> pairs;
    for (const TracedValue &column : columns)
      for (ArrayRef<Value> place : {ArrayRef(first), ArrayRef(second)})
        pairs.push_back(t.elementAt(t.b, t.loc, column, place));
    return comesFirst(pairs);
  };
  Value zero = t.index(0), one = t.index(1), length = t.index(type.getDimSize(*axis));
  auto rankAt = [&](ArrayRef<Value> at) -> std::optional<SmallVector<Value>> {
    SmallVector<Value> own(at);
    auto other = [&](Value index) {
      SmallVector<Value> place(at);
      place[*axis] = index;
      return place;
    };
    // Equal elements keep their order.
    std::optional<Value> before =
        countWhere(t, zero, at[*axis], [&](Value index) -> std::optional<Value> {
          std::optional<Value> overtakes = isBefore(own, other(index));
          if (!overtakes)
            return std::nullopt;
          Value yes = arith::ConstantOp::create(t.b, t.loc, t.b.getBoolAttr(true));
          return arith::XOrIOp::create(t.b, t.loc, *overtakes, yes).getResult();
        });
    Value next = arith::AddIOp::create(t.b, t.loc, at[*axis], one);
    std::optional<Value> after =
        countWhere(t, next, length, [&](Value index) { return isBefore(other(index), own); });
    if (!before || !after)
      return std::nullopt;
    return SmallVector<Value>{arith::AddIOp::create(t.b, t.loc, *before, *after)};
  };
  std::optional<SmallVector<Value>> ranks =
      generateAll(t, type.getShape(), t.b.getI32Type(), rankAt);
  if (!ranks)
    return std::nullopt;
  SmallVector<Value> sizes = t.asIndices(type.getShape());
  std::vector<const KnownValue *> given;
  for (const TracedValue &input : inputs)
    given.push_back(&input.known);
  ShapeResults known = tfg::shapesOf(node, given);
  known.values.resize(columns.size());
  Values results;
  for (auto [column, about] : llvm::zip(columns, known.values)) {
    std::optional<SmallVector<Value>> copy =
        generateAll(t, type.getShape(), elementOf(column.value.getType()), [&](ArrayRef<Value> at) {
          return std::optional(SmallVector<Value>{t.elementAt(t.b, t.loc, column, at)});
        });
    if (!copy)
      return std::nullopt;
    Value sorted = writeTensor(
        t, {copy->front(), {}}, sizes, /*isParallel=*/true, [&](Value tensor, ValueRange loops) {
          SmallVector<Value> at(loops), place(loops);
          Value rank = t.elementAt(t.b, t.loc, {ranks->front(), {}}, at);
          place[*axis] = t.b.createOrFold<arith::IndexCastOp>(t.loc, t.b.getIndexType(), rank);
          Value own = t.elementAt(t.b, t.loc, column, at);
          rc::StoreOp::create(t.b, t.loc, tensor, place, own);
          return true;
        });
    if (!sorted)
      return std::nullopt;
    results.push_back({sorted, about});
  }
  return results;
}

constexpr std::pair<StringRef, Lowering> table[] = {
    {"XlaVariadicSort", sort},
    {"TopKV2", topK},
};

} // namespace

LoweringTable sortLowerings() { return table; }

} // namespace treadle::codegen
