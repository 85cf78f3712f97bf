// Verifiers of ops with functions: reductions, windows, sorts, scatters, control flow.
#include "treadle/dialect/stablehlo/TypeChecks.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

static SmallVector<Type> elementsOf(ValueRange values) {
  return llvm::map_to_vector(values, [](Value value) { return elementOf(value); });
}

// --- reductions and windows ---------------------------------------------------------------------

/// Checks for inputs of equal shapes and a scalar initial value for each.
static LogicalResult expectInits(Operation *op, OperandRange inputs, OperandRange inits) {
  if (inputs.empty() || op->getNumOperands() != 2 * inputs.size())
    return op->emitOpError("has ") << op->getNumOperands() << " operands, expected inputs and as "
                                   << "many initial values";
  for (auto [input, init] : llvm::zip(inputs, inits)) {
    if (!haveSameShape(input.getType(), inputs.front().getType()))
      return op->emitOpError("one operand is ")
             << inputs.front().getType() << ", but another " << input.getType();
    if (failed(expectRank(op, init, "an initial value", 0)) ||
        failed(expectElement(op, init, elementOf(input))))
      return failure();
  }
  return success();
}

/// Checks that the results have equal shapes and the element types that the function returns.
static LogicalResult expectResults(Operation *op, ValueRange results, Block &block,
                                   std::optional<ArrayRef<int64_t>> shape) {
  Operation &end = block.back();
  if (results.size() != end.getNumOperands())
    return op->emitOpError("has ") << results.size() << " results, but its function yields "
                                   << end.getNumOperands() << " values";
  for (auto [result, value] : llvm::zip(results, end.getOperands()))
    if (failed(expectElement(op, result, elementOf(value))) ||
        (shape && failed(expectShape(op, result, *shape))))
      return failure();
  return success();
}

/// Verifies a reduction; `shapeOf` computes the shape of the results from that of the inputs, if
/// known.
template <typename Op, typename Shape> static LogicalResult verifyReduction(Op op, Shape shapeOf) {
  if (failed(expectInits(op, op.getInputs(), op.getInitValues())) ||
      failed(expectReducer(op, op.getBody(), elementsOf(op.getInputs()))))
    return failure();
  Block &block = op.getBody().front();
  RankedTensorType from = ranked(op.getInputs().front());
  if (!from)
    return expectResults(op, op.getResults(), block, std::nullopt);
  FailureOr<SmallVector<int64_t>> shape = shapeOf(from);
  return failed(shape) ? failure() : expectResults(op, op.getResults(), block, *shape);
}

LogicalResult ReduceOp::verifyRegions() {
  return verifyReduction(*this, [&](RankedTensorType from) -> FailureOr<SmallVector<int64_t>> {
    SmallVector<int64_t> dims = getDimensions(), kept;
    if (failed(expectDims(*this, dims, from.getRank(), "dimensions")))
      return failure();
    for (auto [i, size] : llvm::enumerate(from.getShape()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(i)))
        kept.push_back(size);
    return kept;
  });
}

static SmallVector<int64_t> placesOf(ArrayRef<WindowDim> window, RankedTensorType type) {
  SmallVector<int64_t> places;
  for (auto [dim, size] : llvm::zip(window, type.getShape()))
    places.push_back(dim.places(size));
  return places;
}

LogicalResult ReduceWindowOp::verifyRegions() {
  return verifyReduction(*this, [&](RankedTensorType from) -> FailureOr<SmallVector<int64_t>> {
    SmallVector<int64_t> sizes = getWindowDimensions();
    if (failed(expectCount(*this, sizes.size(), from.getRank(), "window_dimensions")))
      return failure();
    FailureOr<SmallVector<WindowDim>> window =
        windowOf(*this,
                 {.sizes = sizes,
                  .strides = valueOrEmpty(getWindowStrides()),
                  .padding = valueOrEmpty(getPadding()),
                  .baseDilations = valueOrEmpty(getBaseDilations()),
                  .dilations = valueOrEmpty(getWindowDilations())},
                 from.getRank());
    return failed(window) ? FailureOr<SmallVector<int64_t>>(failure()) : placesOf(*window, from);
  });
}

LogicalResult SelectAndScatterOp::verifyRegions() {
  Type element = elementOf(getOperand()), flag = IntegerType::get(getContext(), 1);
  if (failed(expectReducer(*this, getScatter(), element)) ||
      failed(expectRank(*this, getInitValue(), "the initial value", 0)) ||
      failed(expectElement(*this, getInitValue(), element)) ||
      failed(expectElement(*this, getSource(), element)))
    return failure();
  Block &choice = getSelect().front();
  Type scalar = RankedTensorType::get({}, element);
  if (failed(expectTypes(*this, "its select region takes", choice.getArgumentTypes(),
                         TypeRange({scalar, scalar}))) ||
      failed(expectTypes(*this, "its select region returns", choice.back().getOperandTypes(),
                         TypeRange(Type(RankedTensorType::get({}, flag))))))
    return failure();
  RankedTensorType from = ranked(getOperand());
  if (!from)
    return success();
  FailureOr<SmallVector<WindowDim>> window = windowOf(*this,
                                                      {.sizes = valueOrEmpty(getWindowDimensions()),
                                                       .strides = valueOrEmpty(getWindowStrides()),
                                                       .padding = valueOrEmpty(getPadding())},
                                                      from.getRank());
  if (failed(window))
    return failure();
  if (SmallVector<int64_t> places = placesOf(*window, from);
      ranked(getSource()) && !fits(ranked(getSource()).getShape(), places))
    return emitOpError("its source is ")
           << getSource().getType() << ", expected "
           << Type(RankedTensorType::get(places, from.getElementType()));
  return expectResults(*this, getResult(), getScatter().front(), from.getShape());
}

LogicalResult chlo::ScanOp::verify() {
  if (!getInputs().empty() && getInits().size() == getCarries().size())
    return success();
  return emitOpError("has ")
         << getInputs().size() << " inputs, " << getInits().size() << " initial values and "
         << getCarries().size()
         << " carried results, expected one or more inputs and a carried result "
         << "for each initial value";
}

LogicalResult SortOp::verifyRegions() {
  if (failed(expectTypes(*this, "its results are", getResultTypes(), getOperandTypes())))
    return failure();
  if (auto type = ranked(getInputs().front()))
    if (int64_t dim = getDimension().value_or(-1), rank = type.getRank();
        failed(expectDim(*this, dim < 0 ? dim + rank : dim, rank, "dimension")))
      return failure();
  Block &block = getComparator().front();
  SmallVector<Type> expected;
  for (Value input : getInputs())
    expected.append(2, RankedTensorType::get({}, elementOf(input)));
  Type flag = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  return failure(
      failed(expectTypes(*this, "its comparator takes", block.getArgumentTypes(), expected)) ||
      failed(expectTypes(*this, "its comparator returns", block.back().getOperandTypes(), flag)));
}

/// Checks the values and indices of the largest elements along the last dimension.
template <typename Op> static LogicalResult verifyTopK(Op op) {
  RankedTensorType from = ranked(op.getOperand());
  if (failed(expectRank(op, op.getOperand(), "its operand", 1, INT64_MAX)) ||
      failed(expectElement(op, op.getValues(), elementOf(op.getOperand()))))
    return failure();
  if (!from)
    return success();
  SmallVector<int64_t> expected(from.getShape());
  if (!isUnknown(expected.back()) && expected.back() < op.getK())
    return op.emitOpError("k is ")
           << op.getK() << ", but the last dimension of " << Type(from) << " is smaller";
  expected.back() = op.getK();
  return failure(failed(expectShape(op, op.getValues(), expected)) ||
                 failed(expectShape(op, op.getIndices(), expected)));
}

LogicalResult chlo::TopKOp::verify() { return verifyTopK(*this); }

LogicalResult mhlo::TopKOp::verify() { return verifyTopK(*this); }

// --- control flow -------------------------------------------------------------------------------

LogicalResult WhileOp::verifyRegions() {
  Block &test = getCond().front(), &body = getBody().front();
  TypeRange carried = getOperandTypes();
  if (failed(expectTypes(*this, "its results are", getResultTypes(), carried)) ||
      failed(expectTypes(*this, "its condition takes", test.getArgumentTypes(), carried)) ||
      failed(expectTypes(*this, "its body takes", body.getArgumentTypes(), carried)) ||
      failed(expectTypes(*this, "its body returns", body.back().getOperandTypes(), carried)))
    return failure();
  Type flag = RankedTensorType::get({}, IntegerType::get(getContext(), 1));
  return expectTypes(*this, "its condition returns", test.back().getOperandTypes(), flag);
}

/// Checks that branches partition the operands and return the result types.
static LogicalResult verifyBranches(Operation *op) {
  if (op->getNumRegions() == 0)
    return op->emitOpError("has no branches");
  if (failed(expectRank(op, op->getOperand(0), "its selector", 0)))
    return failure();
  SmallVector<Type> taken;
  for (Region &region : op->getRegions()) {
    llvm::append_range(taken, region.front().getArgumentTypes());
    if (failed(expectTypes(op, "a branch returns", region.front().back().getOperandTypes(),
                           op->getResultTypes())))
      return failure();
  }
  return expectTypes(op, "its branches take", taken, TypeRange(op->getOperandTypes()).drop_front());
}

LogicalResult IfOp::verifyRegions() { return verifyBranches(*this); }

LogicalResult CaseOp::verifyRegions() { return verifyBranches(*this); }

/// Whether the name has the form `namespace.name`.
static bool isNameInNamespace(StringRef name) {
  auto [space, rest] = name.split('.');
  auto isLetter = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.'; };
  return !space.empty() && !rest.empty() && llvm::isAlpha(space.front()) &&
         llvm::all_of(space, isLetter) && llvm::all_of(rest, isLetter);
}

/// Checks the decomposition, which must have the op's operand and result types.
LogicalResult CompositeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!isNameInNamespace(stablehlo::word(getNameAttr())))
    return emitOpError("its name is ") << getNameAttr() << ", expected one such as \"a.b\"";
  auto function =
      symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getDecompositionAttr());
  if (!function)
    return emitOpError("its decomposition ") << getDecompositionAttr() << " isn't a function";
  return failure(failed(expectTypes(*this, "its decomposition takes", function.getArgumentTypes(),
                                    getOperandTypes())) ||
                 failed(expectTypes(*this, "its decomposition returns", function.getResultTypes(),
                                    getResultTypes())));
}

LogicalResult AsyncStartOp::verifyRegions() {
  Block &block = getBody().front();
  return failure(
      failed(expectTypes(*this, "its body takes", block.getArgumentTypes(), getOperandTypes())) ||
      failed(expectTypes(*this, "its body returns", block.back().getOperandTypes(),
                         cast<TupleType>(getFuture().getType()).getTypes())));
}

LogicalResult AsyncDoneOp::verify() {
  return expectTypes(*this, "its results are", getResultTypes(),
                     cast<TupleType>(getFuture().getType()).getTypes());
}

LogicalResult TupleOp::verify() {
  return expectTypes(*this, "its elements are", getOperandTypes(),
                     cast<TupleType>(getResult().getType()).getTypes());
}

LogicalResult GetTupleElementOp::verify() {
  ArrayRef<Type> types = cast<TupleType>(getOperand().getType()).getTypes();
  if (getIndex() >= std::ssize(types))
    return emitOpError("index is ")
           << getIndex() << ", but the tuple has " << types.size() << " elements";
  return expectTypes(*this, "its result is", getResult().getType(), types[getIndex()]);
}
