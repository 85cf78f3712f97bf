// Verifiers of ops that change shapes or take parts of tensors.
#include "treadle/dialect/stablehlo/TypeChecks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

// --- broadcasts and reshapes --------------------------------------------------------------------

static unsigned bitsOf(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * bitsOf(complex.getElementType());
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}

LogicalResult BitcastConvertOp::verify() {
  RankedTensorType from = ranked(getOperand()), to = ranked(getResult());
  if (!from || !to)
    return success();
  unsigned fromBits = bitsOf(from.getElementType()), toBits = bitsOf(to.getElementType());
  if (fromBits == 0 || toBits == 0)
    return success();
  if (isa<ComplexType>(from.getElementType()) != isa<ComplexType>(to.getElementType()))
    return emitOpError("complex elements can't be bitcast to other types: ")
           << from << " as " << to;
  SmallVector<int64_t> narrow(fromBits < toBits ? from.getShape() : to.getShape()),
      wide(fromBits < toBits ? to.getShape() : from.getShape());
  if (fromBits != toBits) {
    int64_t ratio = std::max(fromBits, toBits) / std::min(fromBits, toBits);
    wide.push_back(ratio);
  }
  if (fits(narrow, wide))
    return success();
  return emitOpError("elements of ") << from << " can't be bitcast to " << to;
}

LogicalResult BroadcastOp::verify() {
  RankedTensorType from = ranked(getOperand());
  SmallVector<int64_t> expected = getBroadcastSizes();
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (llvm::any_of(expected, [](int64_t size) { return size < 0; }))
    return emitOpError("an element of broadcast_sizes is negative");
  if (!from)
    return success();
  llvm::append_range(expected, from.getShape());
  return expectShape(*this, getResult(), expected);
}

/// Checks that each dimension of the operand maps to one of the result of equal size, or has size
/// 1.
static LogicalResult verifyBroadcast(Operation *op, ArrayRef<int64_t> dims) {
  Value operand = op->getOperand(0), result = op->getResult(0);
  RankedTensorType from = ranked(operand), to = ranked(result);
  if (failed(expectElement(op, result, elementOf(operand))))
    return failure();
  if (!from || !to)
    return success();
  if (failed(expectCount(op, dims.size(), from.getRank(), "broadcast_dimensions")) ||
      failed(expectDims(op, dims, to.getRank(), "broadcast_dimensions")))
    return failure();
  for (auto [i, dim] : llvm::enumerate(dims))
    if (from.getDimSize(i) != 1 && !fits(from.getDimSize(i), to.getDimSize(dim)))
      return op->emitOpError("dimension ")
             << i << " of " << Type(from) << " must be 1 or have the size of dimension " << dim
             << " of " << Type(to);
  return success();
}

LogicalResult BroadcastInDimOp::verify() {
  return verifyBroadcast(*this, getBroadcastDimensions());
}

LogicalResult DynamicBroadcastInDimOp::verify() {
  RankedTensorType from = ranked(getOperand()), to = ranked(getResult()),
                   sizes = ranked(getOutputDimensions());
  if (failed(verifyBroadcast(*this, getBroadcastDimensions())) ||
      failed(expectRank(*this, getOutputDimensions(), "output_dimensions", 1)))
    return failure();
  if (to && sizes && !fits(sizes.getDimSize(0), to.getRank()))
    return emitOpError("output_dimensions is ") << Type(sizes) << ", but its result " << Type(to);
  if (std::optional<SmallVector<int64_t>> stated = constantNumbers(getOutputDimensions())) {
    if (failed(expectShape(*this, getResult(), *stated)))
      return failure();
    for (auto [i, dim] : llvm::enumerate(getBroadcastDimensions()))
      if (from && to && from.getDimSize(i) != 1 && !fits(from.getDimSize(i), (*stated)[dim]))
        return emitOpError("dimension ")
               << i << " of " << Type(from) << " must be 1 or " << (*stated)[dim];
  }
  SmallVector<int64_t> known = getKnownExpandingDimensions().value_or(SmallVector<int64_t>());
  llvm::append_range(known, getKnownNonexpandingDimensions().value_or(SmallVector<int64_t>()));
  return from ? expectDims(*this, known, from.getRank(),
                           "known_expanding_dimensions and known_nonexpanding_dimensions")
              : success();
}

LogicalResult ReshapeOp::verify() {
  RankedTensorType from = ranked(getOperand()), to = ranked(getResult());
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (!from || !to || !from.hasStaticShape() || !to.hasStaticShape() ||
      from.getNumElements() == to.getNumElements())
    return success();
  return emitOpError("its operand ")
         << from << " has " << from.getNumElements() << " elements, but its result " << to << " "
         << to.getNumElements();
}

LogicalResult TransposeOp::verify() {
  RankedTensorType from = ranked(getOperand());
  SmallVector<int64_t> dims = getPermutation(), expected;
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (!from)
    return success();
  if (failed(expectCount(*this, dims.size(), from.getRank(), "permutation")) ||
      failed(expectDims(*this, dims, from.getRank(), "permutation")))
    return failure();
  for (int64_t dim : dims)
    expected.push_back(from.getDimSize(dim));
  return expectShape(*this, getResult(), expected);
}

LogicalResult ReverseOp::verify() {
  RankedTensorType from = ranked(getOperand());
  return from ? expectDims(*this, getDimensions(), from.getRank(), "dimensions") : success();
}

LogicalResult GetDimensionSizeOp::verify() {
  RankedTensorType from = ranked(getOperand());
  return from ? expectDim(*this, getDimension(), from.getRank(), "dimension") : success();
}

LogicalResult SetDimensionSizeOp::verify() {
  RankedTensorType from = ranked(getOperand());
  if (failed(expectRank(*this, getSize(), "the size", 0)) ||
      failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  return from ? expectDim(*this, getDimension(), from.getRank(), "dimension") : success();
}

// --- concatenations and pads --------------------------------------------------------------------

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no operands");
  for (Value input : getInputs())
    if (!haveSameElement(input.getType(), getInputs().front().getType()))
      return emitOpError("an operand has element type ")
             << elementOf(input) << ", but the first has " << elementOf(getInputs().front());
  if (failed(expectElement(*this, getResult(), elementOf(getInputs().front()))))
    return failure();
  RankedTensorType first = ranked(getInputs().front());
  auto dim = getDimension();
  if (!first)
    return success();
  if (failed(expectDim(*this, dim, first.getRank(), "dimension")))
    return failure();
  SmallVector<int64_t> sum(first.getShape());
  for (Value operand : getInputs().drop_front()) {
    RankedTensorType type = ranked(operand);
    if (!type)
      return success();
    SmallVector<int64_t> others(type.getShape());
    if (type.getRank() != first.getRank())
      return emitOpError() << type << " and " << first << " have different ranks";
    bool isKnown = !isUnknown(sum[dim]) && !isUnknown(others[dim]);
    if (!isKnown || llvm::AddOverflow(sum[dim], others[dim], sum[dim]))
      sum[dim] = unknown;
    others[dim] = sum[dim];
    if (!fits(others, sum))
      return emitOpError() << type << " and " << first << " differ in more than dimension " << dim;
  }
  return expectShape(*this, getResult(), sum);
}

/// Checks the padded result's sizes by treating padding as a window of one element.
static LogicalResult expectPadded(Operation *op, RankedTensorType from, ArrayRef<int64_t> low,
                                  ArrayRef<int64_t> high, ArrayRef<int64_t> interior) {
  SmallVector<int64_t> expected;
  for (auto [i, size] : llvm::enumerate(from.getShape())) {
    if (interior[i] < 0 || interior[i] == INT64_MAX)
      return op->emitOpError("an element of interior_padding is ") << interior[i];
    WindowDim window{.size = 1, .low = low[i], .high = high[i], .baseDilation = interior[i] + 1};
    expected.push_back(window.places(size));
  }
  return expectShape(op, op->getResult(0), expected);
}

LogicalResult PadOp::verify() {
  RankedTensorType from = ranked(getOperand());
  SmallVector<int64_t> low = getEdgePaddingLow(), high = getEdgePaddingHigh(),
                       interior = getInteriorPadding();
  if (failed(expectRank(*this, getPaddingValue(), "the padding value", 0)) ||
      failed(expectElement(*this, getPaddingValue(), elementOf(getOperand()))) ||
      failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (!from)
    return success();
  size_t rank = from.getRank();
  if (failed(expectCount(*this, low.size(), rank, "edge_padding_low")) ||
      failed(expectCount(*this, high.size(), rank, "edge_padding_high")) ||
      failed(expectCount(*this, interior.size(), rank, "interior_padding")))
    return failure();
  return expectPadded(*this, from, low, high, interior);
}

LogicalResult DynamicPadOp::verify() {
  RankedTensorType from = ranked(getOperand()), to = ranked(getResult());
  if (failed(expectRank(*this, getPaddingValue(), "the padding value", 0)) ||
      failed(expectElement(*this, getPaddingValue(), elementOf(getOperand()))) ||
      failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  for (Value sizes : {getEdgePaddingLow(), getEdgePaddingHigh(), getInteriorPadding()}) {
    RankedTensorType type = ranked(sizes);
    if (failed(expectRank(*this, sizes, "a padding", 1)))
      return failure();
    if (type && from && !fits(type.getDimSize(0), from.getRank()))
      return emitOpError("a padding is ") << Type(type) << ", but its operand " << Type(from);
  }
  if (from && to && from.getRank() != to.getRank())
    return emitOpError() << Type(from) << " and " << Type(to) << " have different ranks";
  std::optional<SmallVector<int64_t>> low = constantNumbers(getEdgePaddingLow()),
                                      high = constantNumbers(getEdgePaddingHigh()),
                                      interior = constantNumbers(getInteriorPadding());
  return from && low && high && interior ? expectPadded(*this, from, *low, *high, *interior)
                                         : success();
}

// --- slices -------------------------------------------------------------------------------------

LogicalResult SliceOp::verify() {
  RankedTensorType from = ranked(getOperand());
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (!from)
    return success();
  size_t rank = from.getRank();
  SmallVector<int64_t> starts = getStartIndices(), limits = getLimitIndices(),
                       strides = getStrides().value_or(SmallVector<int64_t>(rank, 1)), expected;
  if (failed(expectCount(*this, starts.size(), rank, "start_indices")) ||
      failed(expectCount(*this, limits.size(), rank, "limit_indices")) ||
      failed(expectCount(*this, strides.size(), rank, "strides")))
    return failure();
  for (auto [i, size] : llvm::enumerate(from.getShape())) {
    bool isOutside = !isUnknown(size) && limits[i] > size;
    if (starts[i] < 0 || limits[i] < starts[i] || isOutside || strides[i] < 1)
      return emitOpError("[") << starts[i] << ":" << limits[i] << ":" << strides[i]
                              << "] is out of bounds of dimension " << i << " of " << Type(from);
    expected.push_back((limits[i] - starts[i]) / strides[i] +
                       ((limits[i] - starts[i]) % strides[i] != 0));
  }
  return expectShape(*this, getResult(), expected);
}

LogicalResult RealDynamicSliceOp::verify() {
  RankedTensorType from = ranked(getOperand()), to = ranked(getResult());
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  for (Value indices : {getStartIndices(), getLimitIndices(), getStrides()}) {
    RankedTensorType type = ranked(indices);
    if (failed(expectRank(*this, indices, "a list of indices", 1)))
      return failure();
    if (type && from && !fits(type.getDimSize(0), from.getRank()))
      return emitOpError("a list of indices is ")
             << Type(type) << ", but its operand " << Type(from);
  }
  if (from && to && from.getRank() != to.getRank())
    return emitOpError() << Type(from) << " and " << Type(to) << " have different ranks";
  return success();
}

/// Checks for one scalar index for each dimension, all of one type; old programs use one vector.
static LogicalResult verifyIndices(Operation *op, RankedTensorType from, OperandRange indices) {
  RankedTensorType first = indices.size() == 1 ? ranked(indices[0]) : RankedTensorType();
  if (first && first.getRank() == 1)
    return success();
  if (indices.size() != static_cast<size_t>(from.getRank()))
    return op->emitOpError("has ") << indices.size() << " indices, expected one for each of the "
                                   << from.getRank() << " dimensions of " << Type(from);
  for (Value index : indices)
    if (failed(expectRank(op, index, "an index", 0)) ||
        failed(expectElement(op, index, elementOf(indices.front()))))
      return failure();
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  RankedTensorType from = ranked(getOperand());
  SmallVector<int64_t> sizes = getSliceSizes();
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (!from)
    return success();
  if (failed(verifyIndices(*this, from, getStartIndices())) ||
      failed(expectCount(*this, sizes.size(), from.getRank(), "slice_sizes")))
    return failure();
  for (auto [i, size] : llvm::enumerate(from.getShape()))
    if (sizes[i] < 0 || (!isUnknown(size) && sizes[i] > size))
      return emitOpError("a slice of size ")
             << sizes[i] << " is out of bounds of dimension " << i << " of " << Type(from);
  return expectShape(*this, getResult(), sizes);
}

LogicalResult DynamicUpdateSliceOp::verify() {
  RankedTensorType from = ranked(getOperand()), update = ranked(getUpdate());
  if (failed(expectElement(*this, getUpdate(), elementOf(getOperand()))) ||
      failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (!from || !update)
    return success();
  if (failed(verifyIndices(*this, from, getStartIndices())) ||
      failed(expectRank(*this, getUpdate(), "the update", from.getRank())))
    return failure();
  for (auto [size, part] : llvm::zip(from.getShape(), update.getShape()))
    if (!isUnknown(size) && !isUnknown(part) && part > size)
      return emitOpError() << update << " doesn't fit in " << from;
  return expectShape(*this, getResult(), from.getShape());
}
