// Converts reductions, windows and sorts: ops with a scalar function.
#include "treadle/dialect/stablehlo/Window.h"
#include "treadle/import/stablehlo/Tables.h"

#include "mlir/IR/Matchers.h"

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

/// Whether the value is the reduction's identity: 0 for a sum, the minimum for a maximum.
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

static LogicalResult readKnownReduction(BodyConverter &body, Operation *op,
                                        const KnownReduction &known) {
  Value x = input(body, op, 0);
  Type type = body.resultType(op);
  Value result = body.node(known.reduce, {x, body.vector(numbers(op, "dimensions"))}, type);
  if (!isIdentity(op->getOperand(1), known))
    result = body.node(known.combine, {result, input(body, op, 1)}, type);
  return done(body, op, result);
}

static Attribute flag(BodyConverter &body, bool value) { return body.builder.getBoolAttr(value); }

static LogicalResult readReduce(BodyConverter &body, Operation *op) {
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
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  SmallVector<Value> results =
      body.nodes("XlaVariadicReduceV2", body.allOf(op->getOperands()), types, attrs);
  for (auto [from, to] : llvm::zip(op->getResults(), results))
    body.map(from, to);
  return success();
}

// --- windows ------------------------------------------------------------------------------------

/// Several inputs: stacks the elements at each window position and reduces along the stack.
static LogicalResult readReduceWindows(BodyConverter &body, Operation *op) {
  constexpr int64_t maxPlaces = 4096;
  size_t count = op->getNumResults();
  SmallVector<int64_t> window = numbers(op, "window_dimensions");
  size_t rank = window.size();
  SmallVector<int64_t> strides = numbersOr(op, "window_strides", rank, 1),
                       holes = numbersOr(op, "base_dilations", rank, 1),
                       steps = numbersOr(op, "window_dilations", rank, 1),
                       padding = numbersOr(op, "padding", 2 * rank, 0);
  auto type = dyn_cast<RankedTensorType>(body.resultType(op));
  double places = 1; // which may overflow
  for (int64_t size : window)
    places *= static_cast<double>(size);
  // Dynamic dimensions are taken whole if each window is one position.
  int64_t wholeDims = 0;
  bool isKnown = type && type.getRank() == std::ssize(window);
  for (size_t i = 0; isKnown && i < rank; ++i) {
    if (!type.isDynamicDim(i))
      continue;
    wholeDims |= int64_t{1} << i;
    isKnown = window[i] == 1 && strides[i] == 1 && holes[i] == 1 && padding[2 * i] == 0 &&
              padding[2 * i + 1] == 0;
  }
  if (!isKnown || places > maxPlaces || op->getNumOperands() != 2 * count)
    return unimplementedOp(op)
           << " of several inputs with dynamic shapes, or in windows of more than " << maxPlaces
           << " positions";
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
  SmallVector<Type> types;
  for (Type result : op->getResultTypes())
    types.push_back(body.typeOf(result));
  for (auto [from, to] :
       llvm::zip(op->getResults(), body.nodes("XlaVariadicReduceV2", stacks, types, attrs)))
    body.map(from, to);
  return success();
}

namespace {
/// A window that ends or begins at each element and extends to the boundary of its dimension.
struct CumulativeWindow {
  int64_t dim;
  bool isReverse;
};
} // namespace

static std::optional<CumulativeWindow> findRunning(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  SmallVector<int64_t> window = numbers(op, "window_dimensions");
  size_t rank = window.size();
  SmallVector<int64_t> padding = numbersOr(op, "padding", 2 * rank, 0);
  for (StringRef key : {"window_strides", "base_dilations", "window_dilations"})
    if (llvm::any_of(numbersOr(op, key, rank, 1), [](int64_t step) { return step != 1; }))
      return std::nullopt;
  std::optional<CumulativeWindow> found;
  for (size_t i = 0; i < rank; ++i) {
    int64_t low = padding[2 * i], high = padding[2 * i + 1];
    if (window[i] == 1 && low == 0 && high == 0)
      continue;
    if (found || !type || type.getDimSize(i) != window[i] || low + high != window[i] - 1 ||
        (low && high))
      return std::nullopt;
    found = CumulativeWindow{static_cast<int64_t>(i), high > 0};
  }
  return found;
}

/// Converts cumulative sums and products.
static bool readRunning(BodyConverter &body, Operation *op) {
  std::optional<CumulativeWindow> running = findRunning(op);
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

static LogicalResult readReduceWindow(BodyConverter &body, Operation *op) {
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
  return done(body, op, body.node("XlaReduceWindow", inputs, body.resultType(op), attrs));
}

static LogicalResult readSelectAndScatter(BodyConverter &body, Operation *op) {
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
  SmallVector<Value> inputs{x,
                            body.vector(numbersOr(op, "window_dimensions", rank, 1)),
                            body.vector(numbersOr(op, "window_strides", rank, 1)),
                            body.integers(padding, {static_cast<int64_t>(rank), 2}),
                            input(body, op, 1),
                            input(body, op, 2)};
  return done(body, op, body.node("XlaSelectAndScatter", inputs, body.resultType(op), attrs));
}

// --- sort, map, top-k ---------------------------------------------------------------------------

static LogicalResult readSort(BodyConverter &body, Operation *op) {
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
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  for (auto [from, to] :
       llvm::zip(op->getResults(), body.nodes("XlaVariadicSort", inputs, types, attrs)))
    body.map(from, to);
  return success();
}

static LogicalResult readMap(BodyConverter &body, Operation *op) {
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

static LogicalResult readTopKOf(BodyConverter &body, Operation *op, Value k) {
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
  SmallVector<Type> types{BodyConverter::withElement(body.resultType(op, 0), elementOf(x)),
                          body.resultType(op, 1)};
  SmallVector<Value> results = body.nodes("TopKV2", {x, k}, types);
  if (isOfSmallest)
    results[0] = body.like("Invert", results[0]);
  body.map(op->getResult(0),
           isOrdered ? ofTotalOrder(body, results[0], element) : body.cast(results[0], element));
  body.map(op->getResult(1), results[1]);
  return success();
}

static LogicalResult readTopK(BodyConverter &body, Operation *op) {
  return readTopKOf(body, op, body.index(numberOr(op, "k", 1)));
}

LogicalResult hlo::readDynamicTopK(BodyConverter &body, Operation *op) {
  if (op->getNumOperands() != 2 || op->getNumResults() != 2)
    return unimplementedOp(op)
           << " @stablehlo.dynamic_top_k with operands other than values and a count";
  return readTopKOf(body, op, body.cast(input(body, op, 1), body.builder.getI32Type()));
}

static constexpr ConverterRow rows[] = {
    {"reduce", readReduce},
    {"reduce_window", readReduceWindow},
    {"select_and_scatter", readSelectAndScatter},
    {"sort", readSort},
    {"map", readMap},
    {"top_k", readTopK},
    {"topk", readTopK},
};

ArrayRef<ConverterRow> hlo::reductionRows() { return rows; }
