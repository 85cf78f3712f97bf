// Converts linalg on tensors, and affine's index arithmetic. A structured op becomes a call of its
// function with tensors over all loops at once, followed by a reduction over some of them.
#include "treadle/import/stablehlo/Linalg.h"

#include "treadle/import/stablehlo/Tables.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <numeric>

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

void hlo::loadLinalg(MLIRContext &context) {
  context.loadDialect<linalg::LinalgDialect, bufferization::BufferizationDialect>();
}

namespace {

using linalg::LinalgOp;

/// How the result of one iteration is combined with those of earlier ones.
struct Combiner {
  StringRef op;
  bool isOfBools;
  StringRef reduce, combine;
};
constexpr Combiner combiners[] = {
    {"arith.addf", false, "Sum", "AddV2"},       {"arith.addi", false, "Sum", "AddV2"},
    {"arith.mulf", false, "Prod", "Mul"},        {"arith.muli", false, "Prod", "Mul"},
    {"arith.maximumf", false, "Max", "Maximum"}, {"arith.maxsi", false, "Max", "Maximum"},
    {"arith.minimumf", false, "Min", "Minimum"}, {"arith.minsi", false, "Min", "Minimum"},
    {"arith.andi", true, "All", "LogicalAnd"},   {"arith.ori", true, "Any", "LogicalOr"},
};

/// Converts one structured op. The op is a clone that is modified along the way.
class StructuredReader {
public:
  StructuredReader(BodyConverter &body, LinalgOp op)
      : body(body), op(op), block(op->getRegion(0).front()), maps(op.getIndexingMapsArray()) {
    for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      (kind == utils::IteratorType::parallel ? kept : reduced).push_back(static_cast<int64_t>(i));
  }

  /// Returns the values of the results.
  FailureOr<SmallVector<Value>> read();

private:
  size_t numLoops() const { return kept.size() + reduced.size(); }
  LogicalResult checkMaps();
  LogicalResult findSizes();
  LogicalResult extractCombiners();
  const Combiner *combinerOfResult(unsigned index);
  bool isProduct();
  Value einsum();
  void indicesToArguments(SmallVector<Value> &inputs);
  Value alignedToLoops(unsigned operand);
  Value transposedTo(Value value, AffineMap map);
  FailureOr<SmallVector<Value>> callFunction();

  static SmallVector<int64_t> dimsOf(AffineMap map);

  BodyConverter &body;
  LinalgOp op;
  Block &block;
  SmallVector<AffineMap> maps;
  SmallVector<int64_t> kept, reduced; // loops
  SmallVector<int64_t> loopSizes;
  Value shape; // of all loops
  SmallVector<const Combiner *> resultCombiners;
};

SmallVector<int64_t> StructuredReader::dimsOf(AffineMap map) {
  return llvm::map_to_vector(map.getResults(), [](AffineExpr expr) -> int64_t {
    return cast<AffineDimExpr>(expr).getPosition();
  });
}

LogicalResult StructuredReader::checkMaps() {
  for (AffineMap map : maps) {
    llvm::SmallDenseSet<unsigned> seen;
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || !seen.insert(dim.getPosition()).second)
        return unimplementedOp(op)
               << " with indices other than its loop indices: " << AffineMapAttr::get(map);
    }
  }
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (maps[op.getNumDpsInputs() + i].getNumResults() != kept.size())
      return unimplementedOp(op) << " whose results lack one of its parallel loops";
  return success();
}

/// Finds the sizes of the loops: each from the first operand that it indexes.
LogicalResult StructuredReader::findSizes() {
  Type wide = body.builder.getI64Type();
  loopSizes.assign(numLoops(), ShapedType::kDynamic);
  SmallVector<Value> sizes(numLoops());
  for (auto [operand, map] : llvm::zip(op->getOperands(), maps)) {
    for (auto [place, loop] : llvm::enumerate(dimsOf(map))) {
      auto type = cast<RankedTensorType>(operand.getType());
      int64_t known = type.getDimSize(place);
      if (sizes[loop] && (ShapedType::isDynamic(known) || !ShapedType::isDynamic(loopSizes[loop])))
        continue;
      loopSizes[loop] = known;
      if (!ShapedType::isDynamic(known)) {
        sizes[loop] = body.scalarInt(wide, known);
        continue;
      }
      Attrs out, shrink;
      out.append("out_type", TypeAttr::get(wide));
      shrink.append("shrink_axis_mask", body.builder.getI64IntegerAttr(1));
      Value all =
          body.node("Shape", body.of(operand), RankedTensorType::get({type.getRank()}, wide), out);
      auto at = static_cast<int64_t>(place);
      sizes[loop] = body.node("StridedSlice",
                              {all, body.vector({at}), body.vector({at + 1}), body.vector({1})},
                              RankedTensorType::get({}, wide), shrink);
    }
  }
  if (!llvm::all_of(sizes, [](Value size) { return static_cast<bool>(size); }))
    return unimplementedOp(op) << " with a loop that no operand's dimension determines";
  auto count = static_cast<int64_t>(sizes.size());
  shape = sizes.empty() ? body.cast(body.vector({}), wide)
                        : body.node("Pack", sizes, RankedTensorType::get({count}, wide));
  return success();
}

/// Returns the combiner of a result: an op on the accumulated value, which has no other use, and
/// another value.
const Combiner *StructuredReader::combinerOfResult(unsigned index) {
  BlockArgument before = block.getArgument(op.getNumDpsInputs() + index);
  Operation *last = block.back().getOperand(index).getDefiningOp();
  if (!last || !before.hasOneUse() || *before.user_begin() != last || last->getNumOperands() != 2)
    return nullptr;
  bool isOfBools = isBool(elementOf(before.getType()));
  for (const Combiner &row : combiners)
    if (row.op == last->getName().getStringRef() && row.isOfBools == isOfBools)
      return &row;
  return nullptr;
}

/// Makes the function return the values before they are combined.
LogicalResult StructuredReader::extractCombiners() {
  for (unsigned i = 0; i < op.getNumDpsInits() && !reduced.empty(); ++i) {
    const Combiner *combiner = combinerOfResult(i);
    if (!combiner)
      return unimplementedOp(op)
             << " that reduces by a function other than a sum, product, maximum or minimum";
    resultCombiners.push_back(combiner);
    Operation *last = block.back().getOperand(i).getDefiningOp();
    bool isFirst = last->getOperand(0) == block.getArgument(op.getNumDpsInputs() + i);
    block.back().setOperand(i, last->getOperand(isFirst ? 1 : 0));
    if (last->use_empty())
      last->erase();
  }
  return success();
}

/// Whether the op only sums the product of two float inputs.
bool StructuredReader::isProduct() {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1 || resultCombiners.empty() ||
      resultCombiners[0]->reduce != "Sum")
    return false;
  Operation *product = block.back().getOperand(0).getDefiningOp();
  if (!product || product->getName().getStringRef() != "arith.mulf")
    return false;
  llvm::SmallDenseSet<Value> factors(product->operand_begin(), product->operand_end());
  SmallVector<bool> isCounted(numLoops(), false);
  for (AffineMap map : ArrayRef(maps).take_front(2))
    for (int64_t loop : dimsOf(map))
      isCounted[loop] = true;
  constexpr size_t letters = 26;
  return factors.contains(block.getArgument(0)) && factors.contains(block.getArgument(1)) &&
         llvm::all_of(isCounted, [](bool is) { return is; }) && numLoops() <= letters;
}

Value StructuredReader::einsum() {
  std::string equation;
  for (auto [i, separator] : llvm::enumerate(ArrayRef<StringRef>{",", "->", ""})) {
    for (int64_t loop : dimsOf(maps[i]))
      equation.push_back(static_cast<char>('a' + loop));
    equation += separator;
  }
  Attrs attrs;
  attrs.append("equation", body.builder.getStringAttr(equation));
  return body.node("Einsum", {body.of(op->getOperand(0)), body.of(op->getOperand(1))},
                   body.typeOf(op->getResult(0).getType()), attrs);
}

/// Turns the loop indices that the function uses into arguments.
void StructuredReader::indicesToArguments(SmallVector<Value> &inputs) {
  auto loops = RankedTensorType::get(loopSizes, body.builder.getI64Type());
  for (auto index : llvm::make_early_inc_range(block.getOps<linalg::IndexOp>())) {
    Value argument = block.addArgument(index.getType(), index.getLoc());
    index->getResult(0).replaceAllUsesWith(argument);
    inputs.push_back(indicesAlong(body, shape, static_cast<int64_t>(index.getDim()), loops));
    index->erase();
  }
}

/// Returns an operand with one dimension for each loop, of size 1 if the operand lacks it.
Value StructuredReader::alignedToLoops(unsigned operand) {
  Value x = body.of(op->getOperand(operand));
  if (block.getArgument(operand).use_empty())
    return body.scalarInt(elementOf(x), 0);
  SmallVector<int64_t> loops = dimsOf(maps[operand]), order(loops.size());
  if (loops.empty())
    return x;
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) { return loops[a] < loops[b]; });
  SmallVector<int64_t> sizes =
      llvm::map_to_vector(order, [&](int64_t at) { return loopSizes[loops[at]]; });
  if (!llvm::is_sorted(loops))
    x = body.node("Transpose", {x, body.vector(order)}, RankedTensorType::get(sizes, elementOf(x)));
  for (int64_t loop = 0; loop < static_cast<int64_t>(numLoops()); ++loop) {
    if (llvm::is_contained(loops, loop))
      continue;
    sizes.insert(sizes.begin() + loop, 1);
    x = body.node("ExpandDims", {x, body.index(loop)}, RankedTensorType::get(sizes, elementOf(x)));
  }
  return x;
}

/// Transposes a value with one dimension for each kept loop to the order of the result.
Value StructuredReader::transposedTo(Value value, AffineMap map) {
  SmallVector<int64_t> order = llvm::map_to_vector(
      dimsOf(map), [&](int64_t loop) -> int64_t { return llvm::find(kept, loop) - kept.begin(); });
  if (llvm::is_sorted(order))
    return value;
  SmallVector<int64_t> sizes =
      llvm::map_to_vector(dimsOf(map), [&](int64_t loop) { return loopSizes[loop]; });
  return body.node("Transpose", {value, body.vector(order)},
                   RankedTensorType::get(sizes, elementOf(value)));
}

FailureOr<SmallVector<Value>> StructuredReader::callFunction() {
  SmallVector<Value> inputs, captures;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    inputs.push_back(alignedToLoops(i));
  indicesToArguments(inputs);
  FailureOr<std::string> name = elementwiseFunction(body, block, "iteration", captures);
  if (failed(name))
    return failure();
  llvm::append_range(inputs, body.allOf(captures));
  SmallVector<Type> types;
  for (Value given : block.back().getOperands())
    types.push_back(UnrankedTensorType::get(elementOf(body.typeOf(given.getType()))));
  Attrs attrs;
  attrs.append("f", body.func(*name));
  SmallVector<Value> results = body.nodes("PartitionedCall", inputs, types, attrs);
  results.resize(types.size());
  for (Value &result : results)
    result = body.node("BroadcastTo", {result, shape},
                       RankedTensorType::get(loopSizes, elementOf(result)));
  return results;
}

FailureOr<SmallVector<Value>> StructuredReader::read() {
  if (failed(checkMaps()) || failed(findSizes()) || failed(extractCombiners()))
    return failure();
  SmallVector<Value> results;
  bool isOneProduct = isProduct();
  if (isOneProduct) {
    results.push_back(einsum());
  } else {
    FailureOr<SmallVector<Value>> given = callFunction();
    if (failed(given))
      return failure();
    results = *given;
  }
  SmallVector<int64_t> keptSizes =
      llvm::map_to_vector(kept, [&](int64_t loop) { return loopSizes[loop]; });
  for (auto [i, result] : llvm::enumerate(results)) {
    unsigned operand = op.getNumDpsInputs() + static_cast<unsigned>(i);
    if (!reduced.empty() && !isOneProduct)
      result = body.node(resultCombiners[i]->reduce, {result, body.vector(reduced)},
                         RankedTensorType::get(keptSizes, elementOf(result)));
    if (!isOneProduct)
      result = transposedTo(result, maps[operand]);
    if (!reduced.empty())
      result = body.node(resultCombiners[i]->combine, {result, body.of(op->getOperand(operand))},
                         body.typeOf(op->getResult(i).getType()));
  }
  return results;
}

} // namespace

static LogicalResult readStructured(BodyConverter &body, Operation *op) {
  auto structured = dyn_cast<LinalgOp>(op);
  if (!structured || op->getNumRegions() != 1 || !llvm::hasSingleElement(op->getRegion(0)) ||
      op->getNumResults() != structured.getNumDpsInits())
    return unimplementedOp(op) << " of anything but tensors";
  Operation *copy = cloneBefore(op);
  FailureOr<SmallVector<Value>> results = StructuredReader(body, cast<LinalgOp>(copy)).read();
  copy->erase();
  if (failed(results))
    return failure();
  for (auto [from, to] : llvm::zip(op->getResults(), *results))
    body.map(from, to);
  return success();
}

// --- affine -------------------------------------------------------------------------------------

static Value valueOf(BodyConverter &body, AffineExpr expr, ValueRange dims, ValueRange symbols) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return body.scalarInt(body.builder.getI64Type(), constant.getValue());
  auto both = cast<AffineBinaryOpExpr>(expr);
  Value a = valueOf(body, both.getLHS(), dims, symbols),
        b = valueOf(body, both.getRHS(), dims, symbols);
  auto node = [&](StringRef name, Value left, Value right) {
    bool isScalar = rankedOf(left) && rankedOf(left).getRank() == 0;
    return body.node(name, {left, right}, (isScalar ? right : left).getType());
  };
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return node("AddV2", a, b);
  case AffineExprKind::Mul:
    return node("Mul", a, b);
  case AffineExprKind::Mod:
    return node("FloorMod", a, b);
  case AffineExprKind::FloorDiv:
    return node("FloorDiv", a, b);
  default: // ceiling division, computed by floor division
    return body.like("Neg", node("FloorDiv", body.like("Neg", a), b));
  }
}

/// Computes the results of the op's map and combines them by `join` if there are several.
static LogicalResult readAffine(BodyConverter &body, Operation *op) {
  AffineMap map = cast<AffineMapAttr>(op->getAttr("map")).getValue();
  SmallVector<Value> operands = body.allOf(op->getOperands());
  ValueRange dims = ValueRange(operands).take_front(map.getNumDims());
  ValueRange symbols = ValueRange(operands).drop_front(map.getNumDims());
  StringRef join = isa<affine::AffineMinOp>(op) ? "Minimum" : "Maximum";
  Value result;
  for (AffineExpr expr : map.getResults()) {
    Value value = valueOf(body, expr, dims, symbols);
    result = result ? body.node(join, {result, value}, body.resultType(op)) : value;
  }
  body.map(op->getResult(0), result);
  return success();
}

static constexpr StringRef structuredOps[] = {
    "abs",      "add",        "batch_matmul", "batch_matvec", "broadcast",   "ceil",
    "contract", "copy",       "div",          "dot",          "elementwise", "erf",
    "exp",      "fill",       "floor",        "generic",      "log",         "map",
    "matmul",   "matvec",     "max",          "min",          "mul",         "negf",
    "powf",     "reciprocal", "reduce",       "round",        "rsqrt",       "select",
    "sqrt",     "square",     "sub",          "tanh",         "transpose",   "vecmat"};

ArrayRef<ConverterRow> hlo::linalgRows() {
  static const SmallVector<std::string> names = llvm::map_to_vector(
      ArrayRef(structuredOps), [](StringRef op) { return ("linalg." + op).str(); });
  static const SmallVector<ConverterRow> all = [] {
    SmallVector<ConverterRow> list{
        {"affine.apply", readAffine}, {"affine.max", readAffine}, {"affine.min", readAffine}};
    for (const std::string &name : names)
      list.push_back({name, readStructured});
    return list;
  }();
  return all;
}
