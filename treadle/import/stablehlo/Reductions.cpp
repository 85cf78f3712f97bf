// Reductions, windows, sorts: ops with a function of scalars.
#include "treadle/dialect/stablehlo/Window.h"
#include "treadle/import/Keywords.h"
#include "treadle/import/stablehlo/Tables.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

namespace {

/// A reduction that TensorFlow has an op for.
struct KnownReduction {
  StringRef combiner;
  bool isOfBools;
  StringRef reduce, combine;
  double identity;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr KnownReduction knownReductions[] = {
    {"add", false, "Sum", "AddV2", 0},
    {"multiply", false, "Prod", "Mul", 1},
    {"maximum", false, "Max", "Maximum", -infinity},
    {"minimum", false, "Min", "Minimum", infinity},
    {"and", true, "All", "LogicalAnd", 1},
    {"minimum", true, "All", "LogicalAnd", 1},
    {"multiply", true, "All", "LogicalAnd", 1},
    {"or", true, "Any", "LogicalOr", 0},
    {"maximum", true, "Any", "LogicalOr", 0},
    {"add", true, "Any", "LogicalOr", 0},
};

} // namespace

/// Whether the value is a constant that changes nothing: 0 for a sum, the least number for a
/// maximum.
static bool isIdentity(Value value, const KnownReduction &reduction) {
  Operation *op = value.getDefiningOp();
  while (op && (op->getName().stripDialect() == "broadcast_in_dim" ||
                op->getName().stripDialect() == "reshape"))
    op = op->getOperand(0).getDefiningOp();
  auto elements = op && op->getName().stripDialect() == "constant"
                      ? dyn_cast_or_null<DenseElementsAttr>(op->getAttr("value"))
                      : DenseElementsAttr();
  if (!elements || !elements.isSplat())
    return false;
  Type element = elements.getElementType();
  if (isa<FloatType>(element)) {
    APFloat number = elements.getSplatValue<APFloat>();
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToDouble() == reduction.identity;
  }
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return false;
  APInt number = elements.getSplatValue<APInt>();
  bool isUnsigned = integer.isUnsigned();
  if (reduction.identity == infinity)
    return isUnsigned ? number.isMaxValue() : number.isMaxSignedValue();
  if (reduction.identity == -infinity)
    return isUnsigned ? number.isMinValue() : number.isMinSignedValue();
  return number == static_cast<uint64_t>(reduction.identity);
}

static const KnownReduction *findKnown(Region &region, Type element) {
  StringRef combiner = combinerOf(region);
  for (const KnownReduction &known : knownReductions)
    if (known.combiner == combiner && known.isOfBools == isBool(element))
      return &known;
  return nullptr;
}

StringRef hlo::combiningOp(Region &region, Type element) {
  const KnownReduction *known = findKnown(region, element);
  return known ? known->combine : "";
}

static LogicalResult readKnownReduction(Body &body, Operation *op, const KnownReduction &known) {
  Value x = input(body, op, 0);
  Type type = body.resultType(op);
  Value result = body.node(known.reduce, {x, body.vector(numbers(op, "dimensions"))}, type);
  if (!isIdentity(op->getOperand(1), known))
    result = body.node(known.combine, {result, input(body, op, 1)}, type);
  return done(body, op, result);
}

static Attribute flag(Body &body, bool value) { return body.builder.getBoolAttr(value); }

static LogicalResult readReduce(Body &body, Operation *op) {
  if (SmallVector<Value> captures = capturesOf(op->getRegions()); !captures.empty())
    return readWithCaptures(body, op, captures);
  if (op->getNumResults() == 1)
    if (const KnownReduction *known =
            findKnown(op->getRegion(0), elementOf(op->getOperand(0).getType())))
      return readKnownReduction(body, op, *known);
  FailureOr<ScalarFunction> function = scalarFunction(body, op->getRegion(0), "reducer");
  if (failed(function))
    return failure();
  Attrs attrs;
  attrs.append("dimensions_to_reduce", body.builder.getI64ArrayAttr(numbers(op, "dimensions")));
  attrs.append("reducer", body.func(function->name));
  attrs.append(graphdef::elementwiseKey, flag(body, function->isElementwise));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  SmallVector<Value> results =
      body.nodes("XlaVariadicReduceV2", body.allOf(op->getOperands()), types, attrs);
  for (auto [from, to] : llvm::zip(op->getResults(), results))
    body.map(from, to);
  return success();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Several inputs: what lies at each place of the windows, stacked, and reduced along the stack.
static LogicalResult readReduceWindows(Body &body, Operation *op) {
  constexpr int64_t mostPlaces = 4096;
  size_t count = op->getNumResults();
  SmallVector<int64_t> window = numbers(op, "window_dimensions");
  size_t rank = window.size();
  SmallVector<int64_t> strides = numbersOr(op, "window_strides", rank, 1),
                       holes = numbersOr(op, "base_dilations", rank, 1),
                       steps = numbersOr(op, "window_dilations", rank, 1),
                       padding = numbersOr(op, "padding", 2 * rank, 0);
  auto type = dyn_cast<RankedTensorType>(body.resultType(op));
  double places = 1; // which may be more than an integer can count
  for (int64_t size : window)
    places *= static_cast<double>(size);
  // Along dimensions of unknown size everything is taken, if each window is one place.
  int64_t wholeDims = 0;
  bool isKnown = type && type.getRank() == std::ssize(window);
  for (size_t i = 0; isKnown && i < rank; ++i) {
    if (!type.isDynamicDim(i))
      continue;
    wholeDims |= int64_t{1} << i;
    isKnown = window[i] == 1 && strides[i] == 1 && holes[i] == 1 && padding[2 * i] == 0 &&
              padding[2 * i + 1] == 0;
  }
  if (!isKnown || places > mostPlaces || op->getNumOperands() != 2 * count)
    return unimplementedOp(op) << " of several inputs of unknown size, or in windows of more than "
                               << mostPlaces << " places";
  Attrs sliceAttrs;
  sliceAttrs.append("end_mask", body.builder.getI64IntegerAttr(wholeDims));
  FailureOr<ScalarFunction> function = scalarFunction(body, op->getRegion(0), "window");
  if (failed(function))
    return failure();
  SmallVector<int64_t> low, high, interior;
  for (size_t i = 0; i < rank; ++i) {
    low.push_back(padding[2 * i]);
    high.push_back(padding[2 * i + 1]);
    interior.push_back(holes[i] - 1);
  }
  SmallVector<Value> stacks, inits;
  for (size_t k = 0; k < count; ++k) {
    Value x = input(body, op, k);
    inits.push_back(input(body, op, count + k));
    SmallVector<int64_t> shape(rankedOf(x).getShape());
    for (size_t i = 0; i < rank; ++i) {
      stablehlo::WindowDim one{.size = 1, .low = low[i], .high = high[i], .baseDilation = holes[i]};
      shape[i] = one.places(shape[i]);
    }
    x = body.node("XlaPad",
                  {x, inits.back(), body.vector(low), body.vector(high), body.vector(interior)},
                  rankedOf(x).clone(shape));
    Type pieceType = type.clone(elementOf(x));
    SmallVector<Value> pieces;
    for (int64_t place = 0; place < places; ++place) {
      SmallVector<int64_t> begin(rank), end(rank);
      int64_t rest = place;
      for (size_t i = rank; i-- > 0; rest /= window[i]) {
        begin[i] = rest % window[i] * steps[i];
        if (type.isDynamicDim(i))
          continue;
        end[i] = begin[i] + std::max<int64_t>(type.getDimSize(i) - 1, 0) * strides[i] + 1;
        end[i] = type.getDimSize(i) ? end[i] : begin[i];
      }
      pieces.push_back(body.node("StridedSlice",
                                 {x, body.vector(begin), body.vector(end), body.vector(strides)},
                                 pieceType, sliceAttrs));
    }
    SmallVector<int64_t> stacked(type.getShape());
    stacked.insert(stacked.begin(), places);
    stacks.push_back(body.node("Pack", pieces, RankedTensorType::get(stacked, elementOf(x))));
  }
  llvm::append_range(stacks, inits);
  Attrs attrs;
  attrs.append("dimensions_to_reduce", body.builder.getI64ArrayAttr({0}));
  attrs.append("reducer", body.func(function->name));
  attrs.append(graphdef::elementwiseKey, flag(body, function->isElementwise));
  SmallVector<Type> types;
  for (Type result : op->getResultTypes())
    types.push_back(body.typeOf(result));
  for (auto [from, to] :
       llvm::zip(op->getResults(), body.nodes("XlaVariadicReduceV2", stacks, types, attrs)))
    body.map(from, to);
  return success();
}

namespace {
/// A window that ends, or begins, at each element and reaches to the end of its dimension.
struct Running {
  int64_t dim;
  bool isReverse;
};
} // namespace

static std::optional<Running> findRunning(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  SmallVector<int64_t> window = numbers(op, "window_dimensions");
  size_t rank = window.size();
  SmallVector<int64_t> padding = numbersOr(op, "padding", 2 * rank, 0);
  for (StringRef key : {"window_strides", "base_dilations", "window_dilations"})
    if (llvm::any_of(numbersOr(op, key, rank, 1), [](int64_t step) { return step != 1; }))
      return std::nullopt;
  std::optional<Running> found;
  for (size_t i = 0; i < rank; ++i) {
    int64_t low = padding[2 * i], high = padding[2 * i + 1];
    if (window[i] == 1 && low == 0 && high == 0)
      continue;
    if (found || !type || type.getDimSize(i) != window[i] || low + high != window[i] - 1 ||
        (low && high))
      return std::nullopt;
    found = Running{static_cast<int64_t>(i), high > 0};
  }
  return found;
}

/// Sums and products of all elements so far.
static bool readRunning(Body &body, Operation *op) {
  std::optional<Running> running = findRunning(op);
  const KnownReduction *known =
      running ? findKnown(op->getRegion(0), elementOf(op->getOperand(0).getType())) : nullptr;
  if (!known || known->isOfBools || !isIdentity(op->getOperand(1), *known) ||
      (known->reduce != "Sum" && known->reduce != "Prod"))
    return false;
  Attrs attrs;
  attrs.append("exclusive", flag(body, false));
  attrs.append("reverse", flag(body, running->isReverse));
  body.map(op->getResult(0),
           body.node(known->reduce == "Sum" ? "Cumsum" : "Cumprod",
                     {input(body, op, 0), body.index(running->dim)}, body.resultType(op), attrs));
  return true;
}

static LogicalResult readReduceWindow(Body &body, Operation *op) {
  if (SmallVector<Value> captures = capturesOf(op->getRegions()); !captures.empty())
    return readWithCaptures(body, op, captures);
  if (op->getNumOperands() != 2)
    return readReduceWindows(body, op);
  if (readRunning(body, op))
    return success();
  FailureOr<ScalarFunction> function = scalarFunction(body, op->getRegion(0), "window");
  if (failed(function))
    return failure();
  SmallVector<int64_t> window = numbers(op, "window_dimensions");
  auto rank = static_cast<int64_t>(window.size());
  SmallVector<Value> inputs{input(body, op, 0), input(body, op, 1), body.vector(window)};
  for (StringRef key : {"window_strides", "base_dilations", "window_dilations"})
    inputs.push_back(body.vector(numbersOr(op, key, rank, 1)));
  SmallVector<int64_t> padding = numbersOr(op, "padding", 2 * rank, 0);
  inputs.push_back(body.integers(padding, {rank, 2}));
  Attrs attrs;
  attrs.append("computation", body.func(function->name));
  attrs.append(graphdef::elementwiseKey, flag(body, function->isElementwise));
  return done(body, op, body.node("XlaReduceWindow", inputs, body.resultType(op), attrs));
}

static LogicalResult readSelectAndScatter(Body &body, Operation *op) {
  FailureOr<ScalarFunction> select = scalarFunction(body, op->getRegion(0), "select"),
                            scatter = scalarFunction(body, op->getRegion(1), "scatter");
  if (failed(select) || failed(scatter))
    return failure();
  Value x = input(body, op, 0);
  size_t rank = rankedOf(x).getRank();
  SmallVector<int64_t> padding = numbersOr(op, "padding", 2 * rank, 0);
  Attrs attrs;
  attrs.append("select", body.func(select->name));
  attrs.append("scatter", body.func(scatter->name));
  attrs.append(graphdef::elementwiseKey,
               flag(body, select->isElementwise && scatter->isElementwise));
  SmallVector<Value> inputs{x,
                            body.vector(numbersOr(op, "window_dimensions", rank, 1)),
                            body.vector(numbersOr(op, "window_strides", rank, 1)),
                            body.integers(padding, {static_cast<int64_t>(rank), 2}),
                            input(body, op, 1),
                            input(body, op, 2)};
  return done(body, op, body.node("XlaSelectAndScatter", inputs, body.resultType(op), attrs));
}

//===----------------------------------------------------------------------===//
// Sort, map, top-k
//===----------------------------------------------------------------------===//

namespace {

/// What a comparator looks at: an expression of one column's element, smaller ones first.
struct SortKey {
  Value of; // of the first of the two elements, or of the second, whichever the block compares left
  unsigned column;
  bool isDescending, isTotal;
};

/// Finds out whether a comparator compares expressions one after another, each the same of both
/// elements: then rows can be sorted by these without calling it.
class SortKeyFinder {
public:
  explicit SortKeyFinder(Block &block) : block(block) {}

  /// The keys of a predicate, strongest first; false where it is of another kind.
  bool find(Value predicate, SmallVector<SortKey> &keys);

private:
  bool findOne(Operation *compare, SortKey &key);
  bool isSameOfBoth(Value left, Value right, SortKey &key);
  bool isEquality(Value value, const SortKey &key);
  bool findTail(Value tie, Value rest, const SortKey &key, SmallVector<SortKey> &keys);

  Block &block;
};

} // namespace

/// Whether `left` is of one element what `right` is of the other; `isDescending` tells that the
/// left one is of the second.
bool SortKeyFinder::isSameOfBoth(Value left, Value right, SortKey &key) {
  auto a = dyn_cast<BlockArgument>(left), b = dyn_cast<BlockArgument>(right);
  if (a && b && a.getOwner() == &block && b.getOwner() == &block) {
    bool isSecond = a.getArgNumber() % 2;
    if (b.getArgNumber() != (a.getArgNumber() ^ 1U))
      return false;
    unsigned column = a.getArgNumber() / 2;
    bool isFirst = key.column == ~0U;
    if (!isFirst && (key.column != column || key.isDescending != isSecond))
      return false;
    key.column = column;
    key.isDescending = isSecond;
    return true;
  }
  Operation *x = left.getDefiningOp(), *y = right.getDefiningOp();
  if (!x || !y || x->getName() != y->getName() || x->getAttrs() != y->getAttrs() ||
      x->getNumResults() != 1 || x->getNumRegions() || x->getNumOperands() != y->getNumOperands() ||
      x->getResultTypes() != y->getResultTypes())
    return false;
  return llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()), [&](auto pair) {
    return isSameOfBoth(std::get<0>(pair), std::get<1>(pair), key);
  });
}

bool SortKeyFinder::findOne(Operation *compare, SortKey &key) {
  if (!compare || compare->getName().stripDialect() != "compare" || compare->getNumOperands() != 2)
    return false;
  StringRef direction = word(compare, "comparison_direction");
  key = {compare->getOperand(0), ~0U, false, word(compare, "compare_type") == "TOTALORDER"};
  if ((direction != "LT" && direction != "GT") || isComplex(elementOf(key.of)) ||
      !isSameOfBoth(compare->getOperand(0), compare->getOperand(1), key) || key.column == ~0U ||
      elementOf(key.of) != elementOf(block.getArgument(2 * key.column)))
    return false;
  key.isDescending ^= direction == "GT";
  return true;
}

/// Whether the value tells that both elements have the same key.
bool SortKeyFinder::isEquality(Value value, const SortKey &key) {
  Operation *op = value.getDefiningOp();
  SortKey other = {{}, ~0U, false, false};
  if (!op || op->getName().stripDialect() != "compare" ||
      word(op, "comparison_direction") != "EQ" || op->getNumOperands() != 2 ||
      !isSameOfBoth(op->getOperand(0), op->getOperand(1), other) || other.column != key.column)
    return false;
  SortKey both = {{}, ~0U, false, false};
  return op->getOperand(0) == key.of || op->getOperand(1) == key.of ||
         isSameOfBoth(op->getOperand(0), key.of, both) ||
         isSameOfBoth(op->getOperand(1), key.of, both);
}

bool SortKeyFinder::findTail(Value tie, Value rest, const SortKey &key,
                             SmallVector<SortKey> &keys) {
  if (!isEquality(tie, key))
    return false;
  keys.push_back(key);
  return find(rest, keys);
}

/// a < b, or: a < b | (a == b & the rest), in any order.
bool SortKeyFinder::find(Value predicate, SmallVector<SortKey> &keys) {
  Operation *op = predicate.getDefiningOp();
  SortKey key;
  if (findOne(op, key)) {
    keys.push_back(key);
    return true;
  }
  if (!op || op->getName().stripDialect() != "or" || op->getNumOperands() != 2)
    return false;
  for (unsigned side : {0, 1}) {
    Operation *tie = op->getOperand(1 - side).getDefiningOp();
    if (!findOne(op->getOperand(side).getDefiningOp(), key) || !tie ||
        tie->getName().stripDialect() != "and" || tie->getNumOperands() != 2)
      continue;
    return findTail(tie->getOperand(0), tie->getOperand(1), key, keys) ||
           findTail(tie->getOperand(1), tie->getOperand(0), key, keys);
  }
  return false;
}

/// The function of a key that isn't the element itself, with what the expression is made of.
static FailureOr<std::string> keyFunction(Body &body, Block &block, Value key) {
  llvm::SetVector<Operation *> cone;
  SmallVector<Value> open{key};
  BlockArgument argument;
  while (!open.empty()) {
    Value value = open.pop_back_val();
    if (auto found = dyn_cast<BlockArgument>(value))
      argument = found;
    else if (cone.insert(value.getDefiningOp()))
      llvm::append_range(open, value.getDefiningOp()->getOperands());
  }
  auto typeOf = [&](Value value) {
    return UnrankedTensorType::get(elementOf(body.typeOf(value.getType())));
  };
  return body.program.addFunction("sort_key", {Type(typeOf(argument))}, {Type(typeOf(key))}, true,
                                  block.getParentOp()->getLoc(),
                                  [&](Body &inner, tfg::FuncOp target, SmallVector<Value> &values) {
                                    inner.map(argument, target.getDataArgument(0));
                                    for (Operation &op : block)
                                      if (cone.contains(&op) && failed(inner.read(&op)))
                                        return failure();
                                    values = {inner.of(key)};
                                    return success();
                                  });
}

/// Attributes that tell how to sort without the comparator, with functions of the elements for keys
/// that aren't the elements themselves.
static LogicalResult addSortKeys(Body &body, Operation *op, Attrs &attrs) {
  Block &block = op->getRegion(0).front();
  SmallVector<SortKey> keys;
  if (block.back().getNumOperands() != 1 ||
      !SortKeyFinder(block).find(block.back().getOperand(0), keys))
    return success();
  SmallVector<int64_t> columns, descending, total;
  for (auto [i, key] : llvm::enumerate(keys)) {
    columns.push_back(key.column);
    descending.push_back(key.isDescending);
    total.push_back(key.isTotal);
    if (isa<BlockArgument>(key.of))
      continue;
    FailureOr<std::string> name = keyFunction(body, block, key.of);
    if (failed(name))
      return failure();
    attrs.append((graphdef::sortFunctionKey + Twine(i)).str(), body.func(*name));
  }
  attrs.append(graphdef::sortKeysKey, body.builder.getI64ArrayAttr(columns));
  attrs.append(graphdef::sortDescendingKey, body.builder.getI64ArrayAttr(descending));
  attrs.append(graphdef::sortTotalOrderKey, body.builder.getI64ArrayAttr(total));
  return success();
}

static LogicalResult readSort(Body &body, Operation *op) {
  if (SmallVector<Value> captures = capturesOf(op->getRegions()); !captures.empty())
    return readWithCaptures(body, op, captures);
  FailureOr<ScalarFunction> function = scalarFunction(body, op->getRegion(0), "comparator");
  if (failed(function))
    return failure();
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  int64_t dimension = numberOr(op, "dimension", -1);
  if (dimension < 0)
    dimension += rankedOf(inputs[0]).getRank();
  inputs.push_back(body.index(dimension));
  Attrs attrs;
  attrs.append("comparator", body.func(function->name));
  attrs.append("is_stable", flag(body, numberOr(op, "is_stable", 0)));
  attrs.append(graphdef::elementwiseKey, flag(body, function->isElementwise));
  if (function->isElementwise && failed(addSortKeys(body, op, attrs)))
    return failure();
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  for (auto [from, to] :
       llvm::zip(op->getResults(), body.nodes("XlaVariadicSort", inputs, types, attrs)))
    body.map(from, to);
  return success();
}

static LogicalResult readMap(Body &body, Operation *op) {
  SmallVector<Value> captures;
  FailureOr<std::string> name =
      elementwiseFunction(body, op->getRegion(0).front(), "map", captures);
  if (failed(name))
    return failure();
  SmallVector<Value> inputs = body.allOf(op->getOperands());
  llvm::append_range(inputs, body.allOf(captures));
  Attrs attrs;
  attrs.append("f", body.func(*name));
  return done(body, op, body.node("PartitionedCall", inputs, body.resultType(op), attrs));
}

static LogicalResult readTopKOf(Body &body, Operation *op, Value k) {
  Value x = input(body, op, 0);
  Type element = elementOf(x);
  if (isBool(element))
    x = body.cast(x, body.builder.getIntegerType(8, /*isSigned=*/false));
  bool isOrdered = isFloat(element) && element.getIntOrFloatBitWidth() >= 16;
  bool isOfSmallest = numberOr(op, "largest", 1) == 0;
  if (isOrdered) // NaN is the largest
    x = totalOrder(body, x);
  if (isOfSmallest)
    x = body.like("Invert", x);
  SmallVector<Type> types{Body::withElement(body.resultType(op, 0), elementOf(x)),
                          body.resultType(op, 1)};
  SmallVector<Value> results = body.nodes("TopKV2", {x, k}, types);
  if (isOfSmallest)
    results[0] = body.like("Invert", results[0]);
  body.map(op->getResult(0),
           isOrdered ? ofTotalOrder(body, results[0], element) : body.cast(results[0], element));
  body.map(op->getResult(1), results[1]);
  return success();
}

static LogicalResult readTopK(Body &body, Operation *op) {
  return readTopKOf(body, op, body.index(numberOr(op, "k", 1)));
}

LogicalResult hlo::readDynamicTopK(Body &body, Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 2)
    return unimplementedOp(op) << " @stablehlo.dynamic_top_k of other than values and a count";
  return readTopKOf(body, op, body.cast(input(body, op, 1), body.builder.getI32Type()));
}

static constexpr Row rows[] = {
    {"reduce", readReduce},
    {"reduce_window", readReduceWindow},
    {"select_and_scatter", readSelectAndScatter},
    {"sort", readSort},
    {"map", readMap},
    {"top_k", readTopK},
    {"topk", readTopK},
};

ArrayRef<Row> hlo::reductionRows() { return rows; }
