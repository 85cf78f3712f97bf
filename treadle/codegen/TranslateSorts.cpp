// Sorts of rows that aren't long: how many elements come before one tells its place. Counting takes
// as many comparisons as there are pairs, but several at a time, and without branches.
#include "treadle/codegen/Elementwise.h"
#include "treadle/codegen/ScalarBody.h"
#include "treadle/codegen/Translator.h"
#include "treadle/codegen/Writes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace treadle::codegen {
namespace {

/// Rows beyond this length are faster sorted by merging.
constexpr int64_t longestRow = 256;

/// Whether the comparator is known to order all elements, so that no two get one place: its keys
/// are integers, or floats in total order.
bool ordersAll(tfg::Node node, const Values &inputs) {
  auto keys = node.attr<ArrayAttr>("_keys"), total = node.attr<ArrayAttr>("_total_order");
  if (!keys || !total || keys.empty() || keys.size() != total.size())
    return false;
  return llvm::all_of(llvm::zip(keys, total), [&](auto pair) {
    auto key = dyn_cast<IntegerAttr>(std::get<0>(pair)),
         isTotal = dyn_cast<IntegerAttr>(std::get<1>(pair));
    return key && isTotal && key.getInt() >= 0 && key.getInt() < std::ssize(inputs) - 1 &&
           (isTotal.getInt() || !isa<FloatType>(elementOf(inputs[key.getInt()].value.getType())));
  });
}

/// How many of the indices from `begin` to before `end` a condition holds for.
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

MaybeValues sort(Translator &t, tfg::Node node, Values inputs) {
  std::optional<SmallVector<int64_t>> said = t.integers(inputs.back());
  auto type = dyn_cast<RankedTensorType>(inputs[0].value.getType());
  std::optional<int64_t> axis =
      axisOf(said && said->size() == 1 ? std::optional(said->front()) : std::nullopt,
             type ? type.getRank() : 0);
  ArrayRef<Typed> columns = ArrayRef(inputs).drop_back();
  if (!type || !axis || !type.hasStaticShape() || type.getDimSize(*axis) > longestRow ||
      !ordersAll(node, inputs) || !llvm::all_of(columns, [&](const Typed &column) {
        auto own = dyn_cast<RankedTensorType>(column.value.getType());
        return own && own.getShape() == type.getShape() && isNative(own.getElementType()) &&
               !isa<ComplexType>(own.getElementType());
      }))
    return std::nullopt;
  auto isBefore = [&](SmallVector<Value> first, SmallVector<Value> second) -> std::optional<Value> {
    SmallVector<Value> arguments;
    for (const Typed &column : columns)
      for (ArrayRef<Value> place : {ArrayRef(first), ArrayRef(second)})
        arguments.push_back(t.elementAt(t.b, t.loc, column, place));
    std::optional<SmallVector<Value>> made = inlineScalars(t, node, "comparator", arguments);
    return made ? std::optional(made->front()) : std::nullopt;
  };
  Value zero = t.index(0), one = t.index(1), length = t.index(type.getDimSize(*axis));
  auto rankAt = [&](ArrayRef<Value> at) -> std::optional<SmallVector<Value>> {
    SmallVector<Value> own(at);
    auto other = [&](Value index) {
      SmallVector<Value> place(at);
      place[*axis] = index;
      return place;
    };
    // Of equals, those that stood before stay there.
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
  SmallVector<Value> sizes =
      llvm::map_to_vector(type.getShape(), [&](int64_t size) { return t.index(size); });
  std::vector<const KnownValue *> given;
  for (const Typed &input : inputs)
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
};

} // namespace

LoweringTable sortLowerings() { return table; }

} // namespace treadle::codegen
