// Verifiers of gathers and scatters. Both take a tensor of indices; one of its dimensions holds the
// components of an index.
#include "treadle/dialect/stablehlo/TypeChecks.h"

using namespace mlir;
using namespace treadle;
using namespace treadle::stablehlo;

namespace {

/// The dimension numbers of a gather or scatter under common names.
struct IndexDims {
  DictionaryAttr fields;
  StringRef windowName, collapsedName, batchingName, indicesBatchingName, mapName;
  /// Dimensions of the result (or updates) that run over a slice (or window).
  SmallVector<int64_t> window;
  /// Dimensions of the operand: those of size 1 that the result omits, and batch dimensions.
  SmallVector<int64_t> collapsed, batching;
  SmallVector<int64_t> indicesBatching;
  /// The operand's dimension for each component of an index.
  SmallVector<int64_t> map;
  int64_t vectorDim;

  IndexDims(DictionaryAttr fields, std::array<StringRef, 5> names)
      : fields(fields), windowName(names[0]), collapsedName(names[1]), batchingName(names[2]),
        indicesBatchingName(names[3]), mapName(names[4]), window(fieldNumbers(fields, windowName)),
        collapsed(fieldNumbers(fields, collapsedName)),
        batching(fieldNumbers(fields, batchingName)),
        indicesBatching(fieldNumbers(fields, indicesBatchingName)),
        map(fieldNumbers(fields, mapName)) {
    SmallVector<int64_t> dim = fieldNumbers(fields, "index_vector_dim");
    vectorDim = dim.empty() ? 0 : dim.front();
  }

  LogicalResult verify(Operation *op, RankedTensorType operand, RankedTensorType indices) const;
  LogicalResult verifyIndices(Operation *op, RankedTensorType operand,
                              RankedTensorType indices) const;
  /// Returns the sizes of the operand without the dimensions that neither result nor updates have.
  SmallVector<int64_t> windowSizes(ArrayRef<int64_t> sizes) const;
  /// Returns the shape of the result or updates for a window of the given sizes.
  SmallVector<int64_t> shape(RankedTensorType indices, ArrayRef<int64_t> sizes) const;
};

} // namespace

LogicalResult IndexDims::verifyIndices(Operation *op, RankedTensorType operand,
                                       RankedTensorType indices) const {
  if (vectorDim < 0 || vectorDim > indices.getRank())
    return op->emitOpError("index_vector_dim is ")
           << vectorDim << ", expected 0 to " << indices.getRank();
  int64_t length = vectorDim == indices.getRank() ? 1 : indices.getDimSize(vectorDim);
  if (!fits(length, std::ssize(map)))
    return op->emitOpError(mapName) << " has " << map.size() << " elements, but an index in "
                                    << Type(indices) << " " << length;
  if (failed(expectDims(op, indicesBatching, indices.getRank(), indicesBatchingName)))
    return failure();
  if (llvm::is_contained(indicesBatching, vectorDim))
    return op->emitOpError(indicesBatchingName) << " has index_vector_dim";
  if (failed(expectCount(op, indicesBatching.size(), batching.size(), indicesBatchingName)))
    return failure();
  for (auto [i, j] : llvm::zip(batching, indicesBatching))
    if (!fits(operand.getDimSize(i), indices.getDimSize(j)))
      return op->emitOpError("dimension ") << i << " of " << Type(operand) << " and dimension " << j
                                           << " of " << Type(indices) << " have different sizes";
  return success();
}

LogicalResult IndexDims::verify(Operation *op, RankedTensorType operand,
                                RankedTensorType indices) const {
  if (failed(expectFields(op, fields,
                          {windowName, collapsedName, batchingName, indicesBatchingName, mapName,
                           "index_vector_dim"})))
    return failure();
  SmallVector<int64_t> left(collapsed), mapped(map);
  llvm::append_range(left, batching);
  llvm::append_range(mapped, batching);
  int64_t rank = operand.getRank();
  for (auto [dims, what] : {std::pair(&window, windowName), std::pair(&collapsed, collapsedName),
                            std::pair(&batching, batchingName)})
    if (failed(expectSorted(op, *dims, what)))
      return failure();
  if (failed(expectDims(op, left, rank, (collapsedName + " and " + batchingName).str())) ||
      failed(expectDims(op, mapped, rank, (mapName + " and " + batchingName).str())) ||
      failed(verifyIndices(op, operand, indices)))
    return failure();
  if (static_cast<int64_t>(window.size() + left.size()) != rank)
    return op->emitOpError() << windowName << ", " << collapsedName << " and " << batchingName
                             << " have " << window.size() + left.size() << " numbers, but "
                             << Type(operand) << " " << rank << " dimensions";
  int64_t batchRank = indices.getRank() - (vectorDim < indices.getRank() ? 1 : 0);
  return expectDims(op, window, batchRank + std::ssize(window), windowName);
}

SmallVector<int64_t> IndexDims::windowSizes(ArrayRef<int64_t> sizes) const {
  SmallVector<int64_t> out;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (auto dim = static_cast<int64_t>(i);
        !llvm::is_contained(collapsed, dim) && !llvm::is_contained(batching, dim))
      out.push_back(size);
  return out;
}

SmallVector<int64_t> IndexDims::shape(RankedTensorType indices, ArrayRef<int64_t> sizes) const {
  SmallVector<int64_t> batch(indices.getShape()), out;
  if (vectorDim < indices.getRank())
    batch.erase(batch.begin() + vectorDim);
  const int64_t *nextBatch = batch.begin(), *nextSize = sizes.begin();
  for (size_t i = 0; i < batch.size() + sizes.size(); ++i)
    out.push_back(llvm::is_contained(window, static_cast<int64_t>(i)) ? *nextSize++ : *nextBatch++);
  return out;
}

// --- gathers ------------------------------------------------------------------------------------

static IndexDims gatherDims(DictionaryAttr fields) {
  return {fields,
          {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
           "start_indices_batching_dims", "start_index_map"}};
}

/// Checks that each slice fits in the operand, and has size 1 along dimensions that the result
/// omits.
static LogicalResult expectSlices(Operation *op, RankedTensorType operand, const IndexDims &dims,
                                  ArrayRef<int64_t> sizes) {
  for (auto [i, size, whole] : llvm::enumerate(sizes, operand.getShape())) {
    auto dim = static_cast<int64_t>(i);
    bool isLeft = llvm::is_contained(dims.collapsed, dim) || llvm::is_contained(dims.batching, dim);
    if (size < 0 || (!isUnknown(whole) && size > whole) || (isLeft && size > 1))
      return op->emitOpError("a slice of size ")
             << size << " can't be taken along dimension " << i << " of " << Type(operand)
             << (isLeft ? ", which the result omits" : "");
  }
  return success();
}

LogicalResult GatherOp::verify() {
  RankedTensorType operand = ranked(getOperand()), indices = ranked(getStartIndices());
  IndexDims dims = gatherDims(getDimensionNumbers());
  SmallVector<int64_t> sizes = getSliceSizes();
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))))
    return failure();
  if (!operand || !indices)
    return success();
  if (failed(expectCount(*this, sizes.size(), operand.getRank(), "slice_sizes")) ||
      failed(dims.verify(*this, operand, indices)) ||
      failed(expectSlices(*this, operand, dims, sizes)))
    return failure();
  return expectShape(*this, getResult(), dims.shape(indices, dims.windowSizes(sizes)));
}

LogicalResult DynamicGatherOp::verify() {
  RankedTensorType operand = ranked(getOperand()), indices = ranked(getStartIndices()),
                   sizes = ranked(getSliceSizes());
  IndexDims dims = gatherDims(getDimensionNumbers());
  if (failed(expectElement(*this, getResult(), elementOf(getOperand()))) ||
      failed(expectRank(*this, getSliceSizes(), "slice_sizes", 1)))
    return failure();
  if (!operand || !indices)
    return success();
  if (sizes && !fits(sizes.getDimSize(0), operand.getRank()))
    return emitOpError("slice_sizes is ") << Type(sizes) << ", but its operand " << Type(operand);
  if (failed(dims.verify(*this, operand, indices)))
    return failure();
  SmallVector<int64_t> window(dims.window.size(), unknown);
  if (std::optional<SmallVector<int64_t>> stated = constantNumbers(getSliceSizes())) {
    if (failed(expectSlices(*this, operand, dims, *stated)))
      return failure();
    window = dims.windowSizes(*stated);
  }
  return expectShape(*this, getResult(), dims.shape(indices, window));
}

// --- scatters -----------------------------------------------------------------------------------

static LogicalResult expectUpdates(Operation *op, RankedTensorType operand,
                                   RankedTensorType indices, RankedTensorType updates,
                                   const IndexDims &dims) {
  SmallVector<int64_t> open(dims.window.size(), unknown);
  Type expected = RankedTensorType::get(dims.shape(indices, open), updates.getElementType());
  if (!haveSameShape(updates, expected))
    return op->emitOpError("its updates are ") << Type(updates) << ", expected " << expected;
  for (auto [dim, whole] : llvm::zip(dims.window, dims.windowSizes(operand.getShape())))
    if (int64_t size = updates.getDimSize(dim);
        !isUnknown(size) && !isUnknown(whole) && size > whole)
      return op->emitOpError("dimension ") << dim << " of its updates " << Type(updates)
                                           << " is larger than that of " << Type(operand);
  return success();
}

LogicalResult ScatterOp::verifyRegions() {
  if (getInputs().empty() || getNumOperands() != 2 * getInputs().size() + 1)
    return emitOpError("has ") << getNumOperands() << " operands, expected inputs, indices, and as "
                               << "many updates as inputs";
  IndexDims dims(getScatterDimensionNumbers(),
                 {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                  "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"});
  SmallVector<Type> elements;
  for (auto [input, update] : llvm::zip(getInputs(), getUpdates())) {
    if (!haveSameShape(input.getType(), getInputs().front().getType()) ||
        !haveSameShape(update.getType(), getUpdates().front().getType()))
      return emitOpError("its inputs, or its updates, have different shapes");
    if (failed(expectElement(*this, update, elementOf(input))))
      return failure();
    elements.push_back(elementOf(input));
  }
  if (failed(expectReducer(*this, getUpdateComputation(), elements)))
    return failure();
  Operation &end = getUpdateComputation().front().back();
  if (getNumResults() != getInputs().size() || end.getNumOperands() != getInputs().size())
    return emitOpError("has ") << getNumResults() << " results for " << getInputs().size()
                               << " inputs";
  for (auto [result, input, value] : llvm::zip(getResults(), getInputs(), end.getOperands()))
    if (!haveSameShape(result.getType(), input.getType()) ||
        failed(expectElement(*this, result, elementOf(value))))
      return emitOpError("its result is ")
             << result.getType() << ", but its input " << input.getType();
  RankedTensorType operand = ranked(getInputs().front()), indices = ranked(getScatterIndices()),
                   updates = ranked(getUpdates().front());
  if (!operand || !indices || !updates)
    return success();
  return failure(failed(dims.verify(*this, operand, indices)) ||
                 failed(expectUpdates(*this, operand, indices, updates, dims)));
}
