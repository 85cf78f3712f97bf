// Scatter: writes rows by coordinates or by position.
#include "treadle/kernels/arrays/Scatter.h"

#include "treadle/kernels/arrays/IndexedOffsets.h"

#include <algorithm>

namespace treadle {

static Expected<void> checkShapes(const Tensor &whole, const Tensor &indices,
                                  const Tensor &updates) {
  auto shapeError = [&](std::string_view expected) {
    return Unexpected(invalidArgument("indices of shape ", dimsText(indices.dims()),
                                      " and updates of shape ", dimsText(updates.dims()),
                                      " don't fit a tensor of shape ", dimsText(whole.dims()),
                                      ", expected ", expected));
  };
  if (indices.rank() < 1 || updates.rank() < 1)
    return shapeError("at least one dimension");
  if (!whole.count() && (indices.count() || updates.count()))
    return shapeError("none to write to an empty tensor");
  auto depth = static_cast<size_t>(indices.dim(indices.rank() - 1));
  auto lead = static_cast<size_t>(indices.rank()) - 1;
  if (depth > static_cast<size_t>(whole.rank()) || (!depth && updates.count()))
    return shapeError("indices that name at least one and at most all dimensions");
  DimVector dims(indices.dims().first(lead));
  for (int64_t d : whole.dims().subspan(depth))
    dims.push(d);
  if (!std::ranges::equal(dims, updates.dims()))
    return shapeError(str("updates of shape ", dimsText(dims)));
  return {};
}

static Unexpected outOfRange(const Tensor &whole, const Tensor &indices, int64_t row) {
  return Unexpected(invalidArgument("indices[", row, "] = ", dimsText(coordinatesAt(indices, row)),
                                    " does not index into shape ", dimsText(whole.dims())));
}

Expected<void> scatterNd(Tensor &whole, const Tensor &indices, const Tensor &updates,
                         RowsUpdateLoop update, BadIndices bad) {
  TREADLE_TRY(checkShapes(whole, indices, updates));
  if (!updates.count())
    return {};
  IndexedOffsets offsets = IndexedOffsets::ofRows(indices, whole.dims());
  int64_t rows = offsets.count(), width = updates.count() / rows;
  int64_t targets[offsetsPerBlock], sources[offsetsPerBlock];
  for (int64_t first = 0; first < rows; first += offsetsPerBlock) {
    int64_t count = std::min(offsetsPerBlock, rows - first), valid = count;
    offsets.compute(first, count, targets);
    if (bad == BadIndices::Fail)
      valid = std::find_if(targets, targets + count, [](int64_t at) { return at < 0; }) - targets;
    for (int64_t i = 0; i < valid; ++i)
      sources[i] = (first + i) * width;
    if (!update(whole.raw(), targets, updates.raw(), sources, valid, width))
      return Unexpected(invalidArgument("integer division by zero"));
    if (valid < count)
      return outOfRange(whole, indices, first + valid);
  }
  return {};
}

namespace {

struct ScatterState {
  RowsUpdateLoop update;
  BadIndices bad;
};

// Addition for booleans (or) and strings (concatenation).
bool logicalOrLoop(void *out, const void *a, const void *b, bool, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<bool *>(out)[i] =
        static_cast<const bool *>(a)[i] || static_cast<const bool *>(b)[i];
  return true;
}
bool appendLoop(void *out, const void *, const void *b, bool, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<std::string *>(out)[i] += static_cast<const std::string *>(b)[i];
  return true;
}

// Returns input `i` as a writable tensor.
std::optional<Tensor> takeMutable(OpContext &ctx, int i) {
  if (ctx.canReuseInput(i))
    return ctx.takeInput(i);
  return ctx.check(ctx.input(i).clone());
}

void finish(OpContext &ctx, Tensor whole, const Tensor &indices, const Tensor &updates) {
  const auto &state = ctx.state<ScatterState>();
  if (auto done = scatterNd(whole, indices, updates, state.update, state.bad); !done)
    return ctx.fail(std::move(done.error()));
  ctx.setOutput(0, std::move(whole));
}

void scatterIntoZeros(OpContext &ctx) {
  const Tensor &indices = ctx.input(0), &updates = ctx.input(1), &shape = ctx.input(2);
  if (shape.rank() != 1)
    return ctx.fail(invalidArgument("shape must be a vector, but it is ", tensorTypeText(shape)));
  auto whole = TREADLE_OR_RETURN(ctx.check(Tensor::make(updates.dtype(), readIndices(shape))));
  zeroElements(whole.dtype(), whole.raw(), whole.count());
  finish(ctx, std::move(whole), indices, updates);
}

void scatterIntoTensor(OpContext &ctx) {
  Tensor indices = ctx.input(1), updates = ctx.input(2);
  if (auto whole = takeMutable(ctx, 0))
    finish(ctx, std::move(*whole), indices, updates);
}

template <KernelFn fn, Update update, int indices>
Expected<BoundKernel> bindScatter(const BindContext &node) {
  DType dtype = node.outputTypes[0], index = node.inputTypes[static_cast<size_t>(indices)];
  if (index != DType::Int16 && index != DType::Int32 && index != DType::Int64)
    return unsupportedDType(node, index);
  RowsUpdateLoop loop = rowsUpdateLoop(update, dtype);
  if (update == Update::Add && dtype == DType::Bool)
    loop = updateRows<bool, logicalOrLoop>;
  if (update == Update::Add && dtype == DType::String)
    loop = updateRows<std::string, appendLoop>;
  if (!loop)
    return unsupportedDType(node, dtype);
  bool ignores = node.attrs.getOr("bad_indices_policy", std::string()) == "IGNORE";
  return boundWith(fn, ScatterState{loop, ignores ? BadIndices::Ignore : BadIndices::Fail});
}
template <Update update>
constexpr BindFn bindTensorScatter = bindScatter<scatterIntoTensor, update, 1>;

// --- by position -------------------------------------------------------------------------------

// Row indices wrap around at the end, as in TensorFlow.
void updateAtPositions(OpContext &ctx) {
  Tensor indices = ctx.input(1), updates = ctx.input(2);
  const Tensor &in = ctx.input(0);
  if (in.rank() < 1 || indices.rank() != 1 || updates.rank() != in.rank() ||
      updates.dim(0) != indices.count() ||
      !std::ranges::equal(updates.dims().subspan(1), in.dims().subspan(1)))
    return ctx.fail(invalidArgument("x, i and v are ", tensorTypeText(in), ", ",
                                    tensorTypeText(indices), " and ", tensorTypeText(updates),
                                    ", expected a vector i with an element for each row of v"));
  auto whole = TREADLE_OR_RETURN(takeMutable(ctx, 0));
  int64_t rows = whole.dim(0), width = rows ? whole.count() / rows : 0;
  for (int64_t k = 0; width && k < indices.count(); ++k) {
    int64_t target = (indices.data<int32_t>()[k] % rows + rows) % rows * width, source = k * width;
    ctx.state<ScatterState>().update(whole.raw(), &target, updates.raw(), &source, 1, width);
  }
  ctx.setOutput(0, std::move(whole));
}

// --- sparse to dense ---------------------------------------------------------------------------

// Returns the indices as a matrix with one row per value.
Expected<Tensor> sparseIndices(const Tensor &indices, const Tensor &shape, const Tensor &values) {
  int64_t rank = shape.count(), rows = indices.rank() ? indices.dim(0) : 1;
  if (indices.rank() > 2 || shape.rank() != 1 || indices.count() != rows * rank ||
      (values.rank() != 0 && (values.rank() != 1 || values.count() != rows)))
    return Unexpected(invalidArgument("indices, shape and values are ", tensorTypeText(indices),
                                      ", ", tensorTypeText(shape), " and ", tensorTypeText(values),
                                      ", expected the components of a sparse tensor"));
  int64_t dims[] = {rows, rank};
  return indices.withDims(dims);
}

void sparseToDense(OpContext &ctx) {
  const Tensor &values = ctx.input(2), &fill = ctx.input(3);
  auto indices = TREADLE_OR_RETURN(ctx.check(sparseIndices(ctx.input(0), ctx.input(1), values)));
  if (!fill.isScalar())
    return ctx.fail(
        invalidArgument("default_value must be a scalar, but it is ", tensorTypeText(fill)));
  DType dtype = values.dtype();
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtype, readIndices(ctx.input(1))));
  fillElements(dtype, out->raw(), fill.raw(), out->count());
  IndexedOffsets offsets = IndexedOffsets::ofRows(indices, out->dims());
  int64_t previous = -1, targets[offsetsPerBlock];
  for (int64_t row = 0; row < offsets.count(); ++row) {
    int64_t i = row % offsetsPerBlock;
    if (i == 0)
      offsets.compute(row, std::min(offsetsPerBlock, offsets.count() - row), targets);
    if (targets[i] < 0)
      return ctx.fail(
          invalidArgument("indices[", row, "] is outside of the shape ", dimsText(out->dims())));
    if (ctx.state<bool>() && targets[i] <= previous)
      return ctx.fail(invalidArgument("indices[", row,
                                      "] is out of order or repeated; sort the "
                                      "sparse tensor first"));
    previous = targets[i];
    copyElements(dtype, elementAt(dtype, out->raw(), targets[i]),
                 elementAt(dtype, values.raw(), values.isScalar() ? 0 : row), 1);
  }
}

Expected<BoundKernel> bindSparseToDense(const BindContext &node) {
  return boundWith(sparseToDense, node.attrs.getOr("validate_indices", true));
}

const KernelEntry scatterTable[] = {
    {"InplaceAdd", bindScatter<updateAtPositions, Update::Add, 1>},
    {"InplaceSub", bindScatter<updateAtPositions, Update::Sub, 1>},
    {"InplaceUpdate", bindScatter<updateAtPositions, Update::Assign, 1>},
    {"ScatterNd", bindScatter<scatterIntoZeros, Update::Add, 0>},
    {"ScatterNdNonAliasingAdd", bindTensorScatter<Update::Add>},
    {"SparseToDense", bindSparseToDense},
    {"TensorScatterAdd", bindTensorScatter<Update::Add>},
    {"TensorScatterMax", bindTensorScatter<Update::Max>},
    {"TensorScatterMin", bindTensorScatter<Update::Min>},
    {"TensorScatterSub", bindTensorScatter<Update::Sub>},
    {"TensorScatterUpdate", bindTensorScatter<Update::Assign>},
};

} // namespace

std::span<const KernelEntry> scatterKernels() { return scatterTable; }

} // namespace treadle
