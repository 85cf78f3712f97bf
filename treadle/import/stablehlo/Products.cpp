// Converts matrix products, convolutions and Fourier transforms.
#include "treadle/dialect/stablehlo/Convolution.h"
#include "treadle/dialect/stablehlo/Ops.h"
#include "treadle/dialect/stablehlo/Window.h"
#include "treadle/import/stablehlo/Formula.h"
#include "treadle/import/stablehlo/Lapack.h"

#include <numeric>

using namespace mlir;
using namespace treadle;
using namespace treadle::hlo;

using stablehlo::ConvLayout;

// --- products -----------------------------------------------------------------------------------

static std::string einsumText(ArrayRef<int> letters) {
  std::string text;
  for (int letter : letters)
    text.push_back(static_cast<char>(letter < 26 ? 'a' + letter : 'A' + letter - 26));
  return text;
}

/// Returns the einsum equation of a product (`abc,cd->abd`): batch dimensions first, then each
/// side's own.
static std::string equationOf(int64_t leftRank, int64_t rightRank, ArrayRef<int64_t> leftBatch,
                              ArrayRef<int64_t> rightBatch, ArrayRef<int64_t> leftContracting,
                              ArrayRef<int64_t> rightContracting) {
  SmallVector<int> left(leftRank, -1), right(rightRank, -1), out;
  int next = 0;
  for (auto [l, r] : llvm::zip(leftBatch, rightBatch)) {
    left[l] = right[r] = next;
    out.push_back(next++);
  }
  for (auto [l, r] : llvm::zip(leftContracting, rightContracting))
    left[l] = right[r] = next++;
  for (SmallVector<int> *side : {&left, &right})
    for (int &letter : *side)
      if (letter < 0)
        out.push_back(letter = next++);
  return einsumText(left) + "," + einsumText(right) + "->" + einsumText(out);
}

static Value einsum(BodyConverter &body, Value left, Value right, StringRef equation, Type type) {
  Attrs attrs;
  attrs.append("equation", body.builder.getStringAttr(equation));
  return body.node("Einsum", {left, right}, type, attrs);
}

static Value matMul(BodyConverter &body, Value left, Value right, bool leftTransposed,
                    bool rightTransposed, Type type) {
  Attrs attrs;
  attrs.append("transpose_a", body.builder.getBoolAttr(leftTransposed));
  attrs.append("transpose_b", body.builder.getBoolAttr(rightTransposed));
  return body.node("MatMul", {left, right}, type, attrs);
}

/// Returns the element type to compute in: products of other types have no kernels.
static Type productType(Type element, BodyConverter &body) {
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 16
               ? Type(body.builder.getF32Type())
               : element;
  return integer.getWidth() <= 32 && !integer.isUnsigned() ? Type(body.builder.getI32Type())
                                                           : Type(body.builder.getI64Type());
}

static Value product(BodyConverter &body, Value left, Value right, RankedTensorType type,
                     ArrayRef<int64_t> leftBatch, ArrayRef<int64_t> rightBatch,
                     ArrayRef<int64_t> leftContracting, ArrayRef<int64_t> rightContracting) {
  Type element = productType(type.getElementType(), body);
  left = body.cast(left, element);
  right = body.cast(right, element);
  auto computed = cast<RankedTensorType>(type.clone(element));
  int64_t leftRank = rankedOf(left).getRank(), rightRank = rankedOf(right).getRank();
  Value result;
  if (leftRank == 2 && rightRank == 2 && leftBatch.empty() && leftContracting.size() == 1)
    result = matMul(body, left, right, leftContracting[0] == 0, rightContracting[0] == 1, computed);
  else
    result = einsum(
        body, left, right,
        equationOf(leftRank, rightRank, leftBatch, rightBatch, leftContracting, rightContracting),
        computed);
  return body.cast(result, type.getElementType());
}

/// A product of halves accumulates in f32; its type is f32 if all users convert it to a wider
/// float, which avoids rounding in between. XLA does the same.
static RankedTensorType productTypeOf(BodyConverter &body, Operation *op) {
  auto type = cast<RankedTensorType>(body.resultType(op));
  auto widens = [&](Operation *user) {
    auto to = dyn_cast<FloatType>(elementOf(user->getResultTypes().front()));
    return user->getName().stripDialect() == "convert" && user->getBlock() == op->getBlock() &&
           !user->hasAttr("narrow") && to && to.getWidth() >= 32;
  };
  bool isHalf =
      isFloat(type.getElementType()) && type.getElementType().getIntOrFloatBitWidth() == 16;
  if (!isHalf || op->use_empty() || !llvm::all_of(op->getUsers(), [&](Operation *user) {
        return user->getNumResults() == 1 && widens(user);
      }))
    return type;
  return cast<RankedTensorType>(type.clone(body.builder.getF32Type()));
}

static LogicalResult readDotGeneral(BodyConverter &body, Operation *op) {
  auto fields = op->getAttrOfType<DictionaryAttr>("dot_dimension_numbers");
  Value result = product(body, input(body, op, 0), input(body, op, 1), productTypeOf(body, op),
                         fieldNumbers(fields, "lhs_batching_dimensions"),
                         fieldNumbers(fields, "rhs_batching_dimensions"),
                         fieldNumbers(fields, "lhs_contracting_dimensions"),
                         fieldNumbers(fields, "rhs_contracting_dimensions"));
  return done(body, op, result);
}

/// Contracts the last dimension of the left side with the first of the right side.
static LogicalResult readDot(BodyConverter &body, Operation *op) {
  Value left = input(body, op, 0);
  return done(body, op,
              product(body, left, input(body, op, 1), productTypeOf(body, op), {}, {},
                      {rankedOf(left).getRank() - 1}, {0}));
}

static LogicalResult readEinsum(BodyConverter &body, Operation *op) {
  return done(body, op,
              einsum(body, input(body, op, 0), input(body, op, 1), word(op, "einsum_config"),
                     body.resultType(op)));
}

// --- convolution --------------------------------------------------------------------------------

namespace {

/// Converts a convolution to the layout of TensorFlow's ops: NHWC, filters HWIO.
class ConvolutionReader {
public:
  ConvolutionReader(BodyConverter &body, Operation *op) : body(body), op(op) {}
  LogicalResult read();

private:
  void readAttributes();
  void readPaddings();
  Value toTensorflowLayout(Value x, const ConvLayout &layout, bool isFilter);
  Value dilatedAndPadded(Value x);
  Value convolve(Value x, Value filter, RankedTensorType type);
  Value convolveReal(Value x, Value filter, RankedTensorType type);
  Value convolveComplex(Value x, Value filter, RankedTensorType type);
  Value convolveByPosition(Value x, Value filter, RankedTensorType type);
  Value convolveInGroups(Value x, Value filter, RankedTensorType type);
  LogicalResult checkByPlaces(RankedTensorType type, Value filter);
  Value piece(Value x, int64_t dim, int64_t index, int64_t count);
  SmallVector<int64_t> standardShape(RankedTensorType type, const ConvLayout &layout);

  BodyConverter &body;
  Operation *op;
  ConvLayout input, filter, output;
  size_t rank = 0; // spatial
  int64_t groups = 1, batchGroups = 1;
  SmallVector<int64_t> strides, inputDilation, filterDilation, padding, reversal;
  Value dynamicPadding;
  bool isByPlaces = false;
};

} // namespace

void ConvolutionReader::readAttributes() {
  stablehlo::ConvDimensions dims = *stablehlo::convDimensionsOf(op->getAttr("dimension_numbers"));
  input = dims.input;
  filter = dims.filter;
  output = dims.output;
  rank = input.spatial.size();
  strides = numbersOr(op, "window_strides", rank, 1);
  inputDilation = numbersOr(op, "lhs_dilation", rank, 1);
  filterDilation = numbersOr(op, "rhs_dilation", rank, 1);
  reversal = numbersOr(op, "window_reversal", rank, 0);
  groups = numberOr(op, "feature_group_count", 1);
  batchGroups = numberOr(op, "batch_group_count", 1);
  padding.assign(2 * rank, 0);
  if (auto dynamic = dyn_cast<stablehlo::DynamicConvOp>(op))
    dynamicPadding = body.of(dynamic.getPadding());
  else
    padding = numbersOr(op, "padding", 2 * rank, 0);
}

/// Checks convolutions that no TensorFlow op supports: of int64, and with more than three spatial
/// dimensions.
LogicalResult ConvolutionReader::checkByPlaces(RankedTensorType type, Value filterValue) {
  constexpr int64_t maxPlaces = 4096;
  RankedTensorType weights = rankedOf(filterValue), given = rankedOf(body.of(op->getOperand(0)));
  bool isKnown = type.hasStaticShape() && weights.hasStaticShape() && given.hasStaticShape();
  int64_t places = 1;
  for (size_t i = 0; isKnown && i < rank; ++i) {
    isKnown = weights.getDimSize(i) <= maxPlaces && places <= maxPlaces;
    places *= weights.getDimSize(i);
  }
  if (isKnown && places <= maxPlaces)
    return success();
  return unimplementedOp(op) << " over " << rank << " dimensions of " << type.getElementType()
                             << " with dynamic shapes or a window of more than " << maxPlaces
                             << " positions";
}

SmallVector<int64_t> ConvolutionReader::standardShape(RankedTensorType type,
                                                      const ConvLayout &layout) {
  SmallVector<int64_t> shape{type.getDimSize(layout.first)};
  for (int64_t dim : layout.spatial)
    shape.push_back(type.getDimSize(dim));
  shape.push_back(type.getDimSize(layout.last));
  return shape;
}

/// Transposes to batch, spatial dimensions, features; a filter to spatial dimensions, input and
/// output features. One spatial dimension becomes two.
Value ConvolutionReader::toTensorflowLayout(Value x, const ConvLayout &layout, bool isFilter) {
  SmallVector<int64_t> order(layout.spatial);
  if (isFilter)
    order.append({layout.first, layout.last});
  else {
    order.insert(order.begin(), layout.first);
    order.push_back(layout.last);
  }
  RankedTensorType type = rankedOf(x);
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  if (!llvm::is_sorted(order))
    x = body.node("Transpose", {x, body.vector(order)}, type.clone(shape));
  if (isFilter) {
    SmallVector<int64_t> reversed;
    for (size_t i = 0; i < rank; ++i)
      if (reversal[i])
        reversed.push_back(static_cast<int64_t>(i));
    if (!reversed.empty())
      x = body.like("ReverseV2", {x, body.vector(reversed)});
  }
  return x;
}

/// Applies what TensorFlow's ops don't support: base dilation, negative padding, and any padding in
/// three dimensions.
Value ConvolutionReader::dilatedAndPadded(Value x) {
  bool isPlain = llvm::all_of(inputDilation, [](int64_t d) { return d == 1; }) &&
                 llvm::all_of(padding, [](int64_t p) { return p >= 0; }) && rank < 3 && !isByPlaces;
  bool hasPadding = llvm::any_of(padding, [](int64_t p) { return p != 0; });
  if (!dynamicPadding &&
      (isPlain || (!hasPadding && llvm::all_of(inputDilation, [](int64_t d) { return d == 1; }))))
    return x;
  SmallVector<int64_t> low(rank + 2, 0), high(rank + 2, 0), interior(rank + 2, 0),
      shape(rankedOf(x).getShape());
  for (size_t i = 0; i < rank; ++i) {
    low[i + 1] = padding[2 * i];
    high[i + 1] = padding[2 * i + 1];
    interior[i + 1] = inputDilation[i] - 1;
    stablehlo::WindowDim one{.size = 1,
                             .low = padding[2 * i],
                             .high = padding[2 * i + 1],
                             .baseDilation = inputDilation[i]};
    shape[i + 1] = dynamicPadding ? ShapedType::kDynamic : one.places(shape[i + 1]);
  }
  Value lowValue = body.vector(low), highValue = body.vector(high);
  if (dynamicPadding) {
    // A column of [spatial, 2] between zeros.
    Value zero = body.vector({0});
    auto column = [&](int64_t i) {
      Type type = RankedTensorType::get({static_cast<int64_t>(rank), 1}, elementOf(dynamicPadding));
      Value part = body.node(
          "Slice",
          {dynamicPadding, body.vector({0, i}), body.vector({static_cast<int64_t>(rank), 1})},
          type);
      part = body.cast(body.reshape(part, {static_cast<int64_t>(rank)}), body.builder.getI32Type());
      Type whole = RankedTensorType::get({static_cast<int64_t>(rank) + 2}, elementOf(part));
      return body.node("ConcatV2", {zero, part, zero, body.index(0)}, whole);
    };
    lowValue = column(0);
    highValue = column(1);
  }
  x = body.node("XlaPad",
                {x, body.scalar(elementOf(x), 0), lowValue, highValue, body.vector(interior)},
                rankedOf(x).clone(shape));
  padding.assign(2 * rank, 0);
  return x;
}

/// Sums products over window positions: the strided input slice at each position by the filter
/// there.
Value ConvolutionReader::convolveByPosition(Value x, Value filterValue, RankedTensorType type) {
  RankedTensorType all = rankedOf(x), weights = rankedOf(filterValue);
  int64_t places = 1, features = weights.getDimSize(rank);
  for (int64_t size : weights.getShape().take_front(rank))
    places *= size;
  auto matrix =
      RankedTensorType::get({features, weights.getDimSize(rank + 1)}, type.getElementType());
  Value rows = body.reshape(filterValue, {places, features, matrix.getDimSize(1)});
  SmallVector<int64_t> steps{1}, shape(type.getShape());
  steps.append(strides);
  steps.push_back(1);
  shape[rank + 1] = features;
  Value sum;
  for (int64_t place = 0; place < places; ++place) {
    SmallVector<int64_t> begin(rank + 2, 0), end(all.getShape());
    int64_t rest = place;
    for (size_t i = rank; i-- > 0; rest /= weights.getDimSize(i)) {
      begin[i + 1] = rest % weights.getDimSize(i) * filterDilation[i];
      end[i + 1] = begin[i + 1] + (type.getDimSize(i + 1) - 1) * strides[i] + 1;
    }
    Value seen =
        body.node("StridedSlice", {x, body.vector(begin), body.vector(end), body.vector(steps)},
                  RankedTensorType::get(shape, type.getElementType()));
    Value by = body.node(
        "Slice", {rows, body.vector({place, 0, 0}), body.vector({1, -1, -1})},
        RankedTensorType::get({1, features, matrix.getDimSize(1)}, type.getElementType()));
    by = body.reshape(by, matrix.getShape());
    Value part = einsum(body, seen, by, "...a,ab->...b", type);
    sum = sum ? body.node("AddV2", {sum, part}, type) : part;
  }
  return sum ? sum
             : body.node("Fill",
                         {body.vector(type.getShape()), body.scalar(type.getElementType(), 0)},
                         type);
}

/// Extends fewer than two spatial dimensions to two.
Value ConvolutionReader::convolve(Value x, Value filterValue, RankedTensorType type) {
  if (isByPlaces)
    return convolveByPosition(x, filterValue, type);
  auto widened = [](RankedTensorType narrow, size_t at) {
    SmallVector<int64_t> shape(narrow.getShape());
    shape.insert(shape.begin() + at, 1);
    return RankedTensorType::get(shape, narrow.getElementType());
  };
  RankedTensorType computed = type;
  SmallVector<int64_t> ones(strides), holes(filterDilation), pads(padding), added;
  for (size_t dims = rank; dims < 2; ++dims) {
    x = body.node("ExpandDims", {x, body.index(1)}, widened(rankedOf(x), 1));
    filterValue =
        body.node("ExpandDims", {filterValue, body.index(0)}, widened(rankedOf(filterValue), 0));
    computed = widened(computed, 1);
    ones.insert(ones.begin(), 1);
    holes.insert(holes.begin(), 1);
    pads.insert(pads.begin(), {0, 0});
    added.push_back(static_cast<int64_t>(added.size()) + 1);
  }
  auto framed = [&](ArrayRef<int64_t> inner) {
    SmallVector<int64_t> all{1};
    all.append(inner.begin(), inner.end());
    all.push_back(1);
    return body.builder.getI64ArrayAttr(all);
  };
  bool hasPadding = llvm::any_of(pads, [](int64_t p) { return p != 0; });
  Attrs attrs;
  attrs.append("strides", framed(ones));
  attrs.append("dilations", framed(holes));
  attrs.append("padding", body.builder.getStringAttr(hasPadding ? "EXPLICIT" : "VALID"));
  if (hasPadding) {
    SmallVector<int64_t> explicitPads{0, 0};
    explicitPads.append(pads);
    explicitPads.append({0, 0});
    attrs.append("explicit_paddings", body.builder.getI64ArrayAttr(explicitPads));
  }
  Value result = body.node(rank == 3 ? "Conv3D" : "Conv2D", {x, filterValue}, computed, attrs);
  if (added.empty())
    return result;
  Attrs squeeze;
  squeeze.append("squeeze_dims", body.builder.getI64ArrayAttr(added));
  return body.node("Squeeze", result, type, squeeze);
}

/// Returns one of `count` equal pieces along a dimension.
Value ConvolutionReader::piece(Value x, int64_t dim, int64_t index, int64_t count) {
  SmallVector<int64_t> shape(rankedOf(x).getShape()), begin(shape.size(), 0),
      size(shape.size(), -1);
  shape[dim] /= count;
  begin[dim] = index * shape[dim];
  size[dim] = shape[dim];
  return body.node("Slice", {x, body.vector(begin), body.vector(size)}, rankedOf(x).clone(shape));
}

/// Convolves each group separately: batch groups, or feature groups if an op doesn't support them.
Value ConvolutionReader::convolveInGroups(Value x, Value filterValue, RankedTensorType type) {
  int64_t count = batchGroups > 1 ? batchGroups : groups;
  int64_t inputDim = batchGroups > 1 ? 0 : static_cast<int64_t>(rank) + 1;
  int64_t last = static_cast<int64_t>(rank) + 1;
  SmallVector<int64_t> shape(type.getShape());
  shape[last] /= count;
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(convolve(piece(x, inputDim, i, count), piece(filterValue, last, i, count),
                             cast<RankedTensorType>(type.clone(shape))));
  parts.push_back(body.index(last));
  return body.node("ConcatV2", parts, type);
}

Value ConvolutionReader::convolveReal(Value x, Value filterValue, RankedTensorType type) {
  bool isByParts = batchGroups > 1 || (groups > 1 && (rank == 3 || isByPlaces));
  return isByParts ? convolveInGroups(x, filterValue, type) : convolve(x, filterValue, type);
}

/// Uses four real convolutions, since no kernel supports complex ones.
Value ConvolutionReader::convolveComplex(Value x, Value filterValue, RankedTensorType type) {
  Type part = cast<ComplexType>(type.getElementType()).getElementType();
  auto real = cast<RankedTensorType>(type.clone(part));
  Value xs[] = {body.likeOf("Real", x, part), body.likeOf("Imag", x, part)};
  Value filters[] = {body.likeOf("Real", filterValue, part),
                     body.likeOf("Imag", filterValue, part)};
  auto product = [&](int left, int right) {
    return Term(body, convolveReal(xs[left], filters[right], real));
  };
  return body.node("Complex", {product(0, 0) - product(1, 1), product(0, 1) + product(1, 0)}, type);
}

LogicalResult ConvolutionReader::read() {
  readAttributes();
  auto type = cast<RankedTensorType>(body.resultType(op));
  Type element = productType(type.getElementType(), body);
  Value x = toTensorflowLayout(body.cast(body.of(op->getOperand(0)), element), input, false);
  Value filterValue =
      toTensorflowLayout(body.cast(body.of(op->getOperand(1)), element), filter, true);
  auto standard = RankedTensorType::get(standardShape(type, output), element);
  isByPlaces = rank > 3 || element.isInteger(64);
  if (isByPlaces && failed(checkByPlaces(standard, filterValue)))
    return failure();
  x = dilatedAndPadded(x);
  if (batchGroups > 1 && (rankedOf(x).isDynamicDim(0) || !rankedOf(filterValue).hasStaticShape()))
    return unimplementedOp(op) << " in groups of a batch with a dynamic size";
  Value result = isComplex(element) ? convolveComplex(x, filterValue, standard)
                                    : convolveReal(x, filterValue, standard);
  result = body.cast(result, type.getElementType());
  // Transposes back to the layout of the output.
  SmallVector<int64_t> order(rank + 2);
  order[output.first] = 0;
  for (auto [i, dim] : llvm::enumerate(output.spatial))
    order[dim] = static_cast<int64_t>(i) + 1;
  order[output.last] = static_cast<int64_t>(rank) + 1;
  if (!llvm::is_sorted(order))
    result = body.node("Transpose", {result, body.vector(order)}, type);
  return done(body, op, result);
}

/// A window may be larger than its input: then it has no positions, and the result is empty.
static LogicalResult readConvolution(BodyConverter &body, Operation *op) {
  auto type = dyn_cast<RankedTensorType>(body.resultType(op));
  if (type && type.hasStaticShape() && !type.getNumElements())
    return done(body, op, body.constant(DenseElementsAttr::getFromRawBuffer(type, {})));
  return ConvolutionReader(body, op).read();
}

// --- Fourier transforms -------------------------------------------------------------------------

static LogicalResult readFft(BodyConverter &body, Operation *op) {
  StringRef kind = word(op, "fft_type");
  SmallVector<int64_t> length = numbers(op, "fft_length");
  std::string name = kind.str();
  if (length.size() > 1)
    name += std::to_string(length.size()) + "D";
  SmallVector<Value> inputs{input(body, op, 0)};
  if (kind == "RFFT" || kind == "IRFFT")
    inputs.push_back(body.vector(length));
  return done(body, op, body.node(name, inputs, body.resultType(op)));
}

static constexpr ConverterRow rows[] = {
    {"dot_general", readDotGeneral},
    {"dot", readDot},
    {"einsum", readEinsum},
    {"convolution", readConvolution},
    {"dynamic_conv", readConvolution},
    {"fft", readFft},
    {"cholesky", readCholesky},
    {"triangular_solve", readTriangularSolve},
};

ArrayRef<ConverterRow> hlo::productRows() { return rows; }
