// Reductions, windows, sorts: ops with a function of scalars.
#include "treadle/import/stablehlo/Body.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

static LogicalResult done(Body &body, Operation *op, Value value) {
  body.map(op->getResult(0), value);
  return success();
}

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
  if (op->getNumRegions() != 1 || op->getNumOperands() != 2 * op->getNumResults())
    return op->emitError("it has ") << op->getNumOperands() << " operands and "
                                    << op->getNumResults() << " results, expected twice as many";
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
  attrs.append("_elementwise", flag(body, function->isElementwise));
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

static LogicalResult readReduceWindow(Body &body, Operation *op) {
  if (op->getNumOperands() != 2)
    return unimplemented(op) << " of several inputs";
  FailureOr<ScalarFunction> function = scalarFunction(body, op->getRegion(0), "window");
  if (failed(function))
    return failure();
  SmallVector<int64_t> window = numbers(op, "window_dimensions");
  auto rank = static_cast<int64_t>(window.size());
  SmallVector<Value> inputs{input(body, op, 0), input(body, op, 1), body.vector(window)};
  for (StringRef key : {"window_strides", "base_dilations", "window_dilations"})
    inputs.push_back(body.vector(numbersOr(op, key, rank, 1)));
  SmallVector<int64_t> padding = numbersOr(op, "padding", 2 * rank, 0);
  padding.resize(2 * rank, padding.empty() ? 0 : padding.back());
  inputs.push_back(body.reshape(body.vector(padding), {rank, 2}));
  Attrs attrs;
  attrs.append("computation", body.func(function->name));
  attrs.append("_elementwise", flag(body, function->isElementwise));
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
  padding.resize(2 * rank, padding.empty() ? 0 : padding.back());
  Attrs attrs;
  attrs.append("select", body.func(select->name));
  attrs.append("scatter", body.func(scatter->name));
  attrs.append("_elementwise", flag(body, select->isElementwise && scatter->isElementwise));
  SmallVector<Value> inputs{x,
                            body.vector(numbersOr(op, "window_dimensions", rank, 1)),
                            body.vector(numbersOr(op, "window_strides", rank, 1)),
                            body.reshape(body.vector(padding), {static_cast<int64_t>(rank), 2}),
                            input(body, op, 1),
                            input(body, op, 2)};
  return done(body, op, body.node("XlaSelectAndScatter", inputs, body.resultType(op), attrs));
}

//===----------------------------------------------------------------------===//
// Sort, map, top-k
//===----------------------------------------------------------------------===//

static LogicalResult readSort(Body &body, Operation *op) {
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
  attrs.append("_elementwise", flag(body, function->isElementwise));
  SmallVector<Type> types;
  for (Type type : op->getResultTypes())
    types.push_back(body.typeOf(type));
  for (auto [from, to] :
       llvm::zip(op->getResults(), body.nodes("XlaVariadicSort", inputs, types, attrs)))
    body.map(from, to);
  return success();
}

static LogicalResult readMap(Body &body, Operation *op) {
  FailureOr<ScalarFunction> function = scalarFunction(body, op->getRegion(0), "map");
  if (failed(function))
    return failure();
  if (!function->isElementwise)
    return unimplemented(op) << " of a function that isn't made of elementwise ops";
  Attrs attrs;
  attrs.append("f", body.func(function->name));
  return done(
      body, op,
      body.node("PartitionedCall", body.allOf(op->getOperands()), body.resultType(op), attrs));
}

static LogicalResult readTopK(Body &body, Operation *op) {
  Value x = input(body, op, 0), k = body.index(numberOr(op, "k", 1));
  SmallVector<Type> types{body.resultType(op, 0), body.resultType(op, 1)};
  for (auto [from, to] : llvm::zip(op->getResults(), body.nodes("TopKV2", {x, k}, types)))
    body.map(from, to);
  return success();
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
