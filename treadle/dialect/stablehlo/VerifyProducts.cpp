// Verifiers of products, convolutions and linear algebra ops.
#include "treadle/dialect/stablehlo/Convolution.h"
#include "treadle/dialect/stablehlo/TypeChecks.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

// --- products -----------------------------------------------------------------------------------

LogicalResult DotOp::verify() {
  RankedTensorType a = ranked(getLhs()), b = ranked(getRhs());
  if (failed(expectRank(*this, getLhs(), "the left side", 1, 2)) ||
      failed(expectRank(*this, getRhs(), "the right side", 1, 2)))
    return failure();
  if (!a || !b)
    return success();
  if (!fits(a.getShape().back(), b.getShape().front()))
    return emitOpError("the last dimension of ")
           << Type(a) << " and the first of " << Type(b) << " have different sizes";
  SmallVector<int64_t> expected(a.getShape().drop_back());
  llvm::append_range(expected, b.getShape().drop_front());
  return expectShape(*this, getResult(), expected);
}

/// Checks one side's batch and contracting dimensions.
static LogicalResult expectPaired(Operation *op, RankedTensorType type, ArrayRef<int64_t> batch,
                                  ArrayRef<int64_t> contracting, StringRef side) {
  SmallVector<int64_t> dims(batch);
  llvm::append_range(dims, contracting);
  return expectDims(op, dims, type.getRank(),
                    (side + "_batching_dimensions and " + side + "_contracting_dimensions").str());
}

/// Checks that paired dimensions have equal sizes.
static LogicalResult expectSameSizes(Operation *op, RankedTensorType a, RankedTensorType b,
                                     ArrayRef<int64_t> left, ArrayRef<int64_t> right) {
  for (auto [i, j] : llvm::zip(left, right))
    if (!fits(a.getDimSize(i), b.getDimSize(j)))
      return op->emitOpError("dimension ") << i << " of " << Type(a) << " and dimension " << j
                                           << " of " << Type(b) << " have different sizes";
  return success();
}

static void appendFree(RankedTensorType type, ArrayRef<int64_t> batch,
                       ArrayRef<int64_t> contracting, SmallVector<int64_t> &sizes) {
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (auto dim = static_cast<int64_t>(i);
        !llvm::is_contained(batch, dim) && !llvm::is_contained(contracting, dim))
      sizes.push_back(size);
}

LogicalResult DotGeneralOp::verify() {
  RankedTensorType a = ranked(getLhs()), b = ranked(getRhs());
  DictionaryAttr fields = getDotDimensionNumbers();
  if (failed(expectFields(*this, fields,
                          {"lhs_batching_dimensions", "rhs_batching_dimensions",
                           "lhs_contracting_dimensions", "rhs_contracting_dimensions"})))
    return failure();
  SmallVector<int64_t> leftBatch = fieldNumbers(fields, "lhs_batching_dimensions"),
                       rightBatch = fieldNumbers(fields, "rhs_batching_dimensions"),
                       left = fieldNumbers(fields, "lhs_contracting_dimensions"),
                       right = fieldNumbers(fields, "rhs_contracting_dimensions");
  for (auto [x, y, kind] : {std::tuple(&leftBatch, &rightBatch, "batching_dimensions"),
                            std::tuple(&left, &right, "contracting_dimensions")})
    if (x->size() != y->size())
      return emitOpError() << x->size() << " and " << y->size() << " " << kind
                           << ", expected equal numbers for both operands";
  if (!a || !b)
    return success();
  if (failed(expectPaired(*this, a, leftBatch, left, "lhs")) ||
      failed(expectPaired(*this, b, rightBatch, right, "rhs")) ||
      failed(expectSameSizes(*this, a, b, leftBatch, rightBatch)) ||
      failed(expectSameSizes(*this, a, b, left, right)))
    return failure();
  SmallVector<int64_t> expected;
  for (int64_t dim : leftBatch)
    expected.push_back(a.getDimSize(dim));
  appendFree(a, leftBatch, left, expected);
  appendFree(b, rightBatch, right, expected);
  return expectShape(*this, getResult(), expected);
}

// --- convolutions -------------------------------------------------------------------------------

/// Checks that each dimension of the type occurs once in the layout.
static LogicalResult expectLayout(Operation *op, RankedTensorType type, const ConvLayout &layout,
                                  StringRef what) {
  SmallVector<int64_t> dims(layout.spatial);
  dims.append({layout.first, layout.last});
  llvm::sort(dims);
  if (llvm::equal(dims, llvm::seq<int64_t>(type.getRank())))
    return success();
  return op->emitOpError("its dimension_numbers of the ")
         << what << " don't name each dimension of " << Type(type) << " once";
}

/// Checks that `groups` divides `whole`.
static LogicalResult expectGroups(Operation *op, int64_t whole, int64_t groups, StringRef what) {
  if (isUnknown(whole) || whole % groups == 0)
    return success();
  return op->emitOpError() << whole << ' ' << what << " can't be divided evenly into " << groups
                           << " groups";
}

namespace {
/// A convolution with explicit or computed padding.
struct Convolution {
  Operation *op;
  RankedTensorType input, filter, output;
  int64_t groups, batchGroups;
  ConvDimensions dims = {};

  LogicalResult verifyLayouts();
  LogicalResult verifyFeatures();
  FailureOr<SmallVector<WindowDim>> window(WindowAttributes &&attributes);
  /// `window` is empty if it isn't known.
  LogicalResult verifyShape(ArrayRef<WindowDim> window);
};
} // namespace

LogicalResult Convolution::verifyLayouts() {
  FailureOr<ConvDimensions> found = convDimensionsOf(op->getAttr("dimension_numbers"));
  if (failed(found))
    return op->emitOpError("dimension_numbers must be fields or three lists");
  dims = std::move(*found);
  if (input.getRank() != filter.getRank() || input.getRank() != output.getRank())
    return op->emitOpError("ranks of input, filter and result differ: ")
           << Type(input) << ", " << Type(filter) << ", " << Type(output);
  return failure(failed(expectLayout(op, input, dims.input, "input")) ||
                 failed(expectLayout(op, filter, dims.filter, "filter")) ||
                 failed(expectLayout(op, output, dims.output, "output")));
}

LogicalResult Convolution::verifyFeatures() {
  if (groups > 1 && batchGroups > 1)
    return op->emitOpError("feature_group_count is ")
           << groups << " and batch_group_count " << batchGroups
           << ", expected one of them to be 1";
  int64_t batch = input.getDimSize(dims.input.first), features = input.getDimSize(dims.input.last),
          taken = filter.getDimSize(dims.filter.first), given = filter.getDimSize(dims.filter.last);
  if (failed(expectGroups(op, batch, batchGroups, "inputs of a batch")) ||
      failed(expectGroups(op, features, groups, "input features")) ||
      failed(expectGroups(op, given, groups, "output features")) ||
      failed(expectGroups(op, given, batchGroups, "output features")))
    return failure();
  if (isUnknown(features) || isUnknown(taken) || features / groups == taken)
    return success();
  return op->emitOpError("its filter takes ")
         << taken << " features, but its input has " << features << " in " << groups << " groups";
}

FailureOr<SmallVector<WindowDim>> Convolution::window(WindowAttributes &&attributes) {
  for (int64_t dim : dims.filter.spatial)
    attributes.sizes.push_back(std::max<int64_t>(filter.getDimSize(dim), 1));
  FailureOr<SmallVector<WindowDim>> window = windowOf(op, attributes, dims.filter.spatial.size());
  if (succeeded(window))
    for (auto [i, dim] : llvm::enumerate(dims.filter.spatial))
      (*window)[i].size = filter.getDimSize(dim);
  return window;
}

LogicalResult Convolution::verifyShape(ArrayRef<WindowDim> window) {
  SmallVector<int64_t> expected(output.getRank(), unknown);
  int64_t batch = input.getDimSize(dims.input.first);
  expected[dims.output.first] = isUnknown(batch) ? unknown : batch / batchGroups;
  expected[dims.output.last] = filter.getDimSize(dims.filter.last);
  for (auto [i, along] : llvm::enumerate(window))
    expected[dims.output.spatial[i]] = along.places(input.getDimSize(dims.input.spatial[i]));
  return expectShape(op, op->getResult(0), expected);
}

/// Checks explicit padding, or the type of padding that is computed at run time.
static LogicalResult verifyPadding(ConvolutionOp op, size_t, SmallVector<int64_t> &stated) {
  stated = valueOrEmpty(op.getPadding());
  return success();
}

static LogicalResult verifyPadding(DynamicConvOp op, size_t rank, SmallVector<int64_t> &) {
  RankedTensorType padding = ranked(op.getPadding());
  std::array<int64_t, 2> expected = {static_cast<int64_t>(rank), 2};
  if (!padding || fits(padding.getShape(), expected))
    return success();
  return op.emitOpError("its padding is ")
         << Type(padding) << ", expected " << rank << " rows of 2";
}

template <typename Op> static LogicalResult verifyConvolution(Op op) {
  Convolution whole{op,
                    ranked(op.getLhs()),
                    ranked(op.getRhs()),
                    ranked(op.getResult()),
                    static_cast<int64_t>(op.getFeatureGroupCount()),
                    static_cast<int64_t>(op.getBatchGroupCount())};
  if (!haveSameElement(op.getLhs().getType(), op.getRhs().getType()))
    return op.emitOpError("its input has element type ")
           << elementOf(op.getLhs()) << ", but its filter has " << elementOf(op.getRhs());
  if (!whole.input || !whole.filter || !whole.output)
    return success();
  if (failed(whole.verifyLayouts()) || failed(whole.verifyFeatures()))
    return failure();
  size_t rank = whole.dims.input.spatial.size();
  SmallVector<int64_t> reversal = valueOrEmpty(op.getWindowReversal()), padding;
  if ((!reversal.empty() && failed(expectCount(op, reversal.size(), rank, "window_reversal"))) ||
      failed(verifyPadding(op, rank, padding)))
    return failure();
  FailureOr<SmallVector<WindowDim>> window =
      whole.window({.strides = valueOrEmpty(op.getWindowStrides()),
                    .padding = std::move(padding),
                    .baseDilations = valueOrEmpty(op.getLhsDilation()),
                    .dilations = valueOrEmpty(op.getRhsDilation())});
  if (failed(window))
    return failure();
  return whole.verifyShape(isa<DynamicConvOp>(op) ? ArrayRef<WindowDim>() : *window);
}

LogicalResult ConvolutionOp::verify() { return verifyConvolution(*this); }

LogicalResult DynamicConvOp::verify() { return verifyConvolution(*this); }

// --- linear algebra -----------------------------------------------------------------------------

/// Checks that the last two dimensions are a square matrix.
static LogicalResult expectSquare(Operation *op, Value value) {
  RankedTensorType type = ranked(value);
  if (failed(expectRank(op, value, "a matrix", 2, INT64_MAX)))
    return failure();
  if (!type || fits(type.getShape().back(), type.getShape().drop_back().back()))
    return success();
  return op->emitOpError("a matrix is ") << Type(type) << ", expected a square matrix";
}

LogicalResult CholeskyOp::verify() { return expectSquare(*this, getA()); }

LogicalResult TriangularSolveOp::verify() {
  RankedTensorType a = ranked(getA()), b = ranked(getB());
  if (failed(expectSquare(*this, getA())) ||
      failed(expectRank(*this, getB(), "the right side", 2, INT64_MAX)) ||
      failed(expectElement(*this, getB(), elementOf(getA()))) ||
      failed(expectElement(*this, getResult(), elementOf(getA()))))
    return failure();
  if (getTransposeA() == "TRANSPOSE_INVALID")
    return emitOpError("transpose_a is TRANSPOSE_INVALID, expected another value");
  if (!a || !b)
    return success();
  if (a.getRank() != b.getRank() || !fits(a.getShape().drop_back(2), b.getShape().drop_back(2)))
    return emitOpError() << Type(a) << " and " << Type(b) << " have different batch dimensions";
  auto isLeft = dyn_cast<BoolAttr>(getLeftSide());
  int64_t side = b.getRank() - (!isLeft || isLeft.getValue() ? 2 : 1);
  if (!fits(b.getDimSize(side), a.getShape().back()))
    return emitOpError("dimension ")
           << side << " of " << Type(b) << " doesn't have the size of those of " << Type(a);
  return expectShape(*this, getResult(), b.getShape());
}

/// Whether a transform of this kind maps the element types: real to complex, complex to real, or
/// complex to complex.
static bool isTransform(StringRef kind, Type from, Type to) {
  if (kind == "RFFT")
    return isa<FloatType>(from) && to == ComplexType::get(from);
  if (kind == "IRFFT")
    return isa<FloatType>(to) && from == ComplexType::get(to);
  return isa<ComplexType>(from) && from == to;
}

LogicalResult FftOp::verify() {
  RankedTensorType from = ranked(getOperand());
  SmallVector<int64_t> length = getFftLength();
  StringRef kind = getFftType();
  if (!isTransform(kind, elementOf(getOperand()), elementOf(getResult())))
    return emitOpError(kind) << " doesn't make elements of " << elementOf(getResult()) << " of "
                             << elementOf(getOperand());
  if (length.empty() || length.size() > 3)
    return emitOpError("fft_length has ") << length.size() << " numbers, expected 1 to 3";
  if (llvm::any_of(length, [](int64_t n) { return n < 0; }))
    return emitOpError("an element of fft_length is negative");
  if (failed(expectRank(*this, getOperand(), "its operand", std::ssize(length), INT64_MAX)))
    return failure();
  if (!from)
    return success();
  // For reals, half of the spectrum determines the other half.
  SmallVector<int64_t> taken(length), given(length), expected(from.getShape());
  int64_t &half = kind == "RFFT" ? given.back() : taken.back();
  if (kind == "RFFT" || kind == "IRFFT")
    half = half == 0 ? 0 : half / 2 + 1;
  if (!fits(from.getShape().take_back(length.size()), taken))
    return emitOpError("the last dimensions of ")
           << Type(from) << " don't have the sizes of fft_length";
  expected.back() = given.back();
  return expectShape(*this, getResult(), expected);
}

// --- normalization ------------------------------------------------------------------------------

/// Checks that `vectors` have one number for each feature.
static LogicalResult expectFeatures(Operation *op, int64_t feature, ValueRange vectors,
                                    ValueRange wholes) {
  RankedTensorType type = ranked(wholes.front());
  for (Value whole : wholes)
    if (!typesMatch(whole.getType(), wholes.front().getType()))
      return op->emitOpError("one operand is ")
             << wholes.front().getType() << ", but another " << whole.getType();
  if (type && failed(expectDim(op, feature, type.getRank(), "feature_index")))
    return failure();
  for (Value vector : vectors) {
    RankedTensorType numbers = ranked(vector);
    if (failed(expectRank(op, vector, "a per-feature operand", 1)) ||
        failed(expectElement(op, vector, elementOf(wholes.front()))))
      return failure();
    if (type && numbers && !fits(numbers.getDimSize(0), type.getDimSize(feature)))
      return op->emitOpError() << Type(numbers) << " doesn't have one number for each feature of "
                               << Type(type);
  }
  return success();
}

LogicalResult BatchNormGradOp::verify() {
  return expectFeatures(*this, getFeatureIndex(),
                        {getScale(), getMean(), getVariance(), getGradScale(), getGradOffset()},
                        {getOperand(), getGradOutput(), getGradOperand()});
}

LogicalResult BatchNormInferenceOp::verify() {
  return expectFeatures(*this, getFeatureIndex(),
                        {getScale(), getOffset(), getMean(), getVariance()},
                        {getOperand(), getResult()});
}

LogicalResult BatchNormTrainingOp::verify() {
  return expectFeatures(*this, getFeatureIndex(),
                        {getScale(), getOffset(), getBatchMean(), getBatchVar()},
                        {getOperand(), getOutput()});
}
