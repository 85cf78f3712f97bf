// Gather: reads rows by index.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/arrays/IndexedOffsets.h"
#include "treadle/kernels/arrays/Scatter.h"

#include <algorithm>
#include <atomic>

namespace treadle {
namespace {

// --- along an axis -----------------------------------------------------------------------------

// The sizes of a gather: the result is [batches][outer][indices][inner], read from
// [batches][outer][limit][inner].
struct GatherShape {
  int64_t batches, outer, limit, indices, inner;
  DimVector result;
};

Expected<GatherShape> gatherShape(const Tensor &params, const Tensor &indices, int64_t askedAxis,
                                  int64_t askedBatch) {
  int64_t rank = params.rank();
  if (rank < 1)
    return Unexpected(invalidArgument("params must have at least one dimension, but it is ",
                                      tensorTypeText(params)));
  int64_t axis = normalizedAxis(askedAxis, rank);
  if (axis < 0)
    return Unexpected(
        invalidArgument("axis is ", askedAxis, ", expected one in [", -rank, ", ", rank, ")"));
  int64_t batch = askedBatch < 0 ? askedBatch + indices.rank() : askedBatch;
  if (batch < 0 || batch > indices.rank() || batch > axis)
    return Unexpected(invalidArgument("batch_dims is ", askedBatch,
                                      ", expected at most the rank of indices, ", indices.rank(),
                                      ", and at most the axis, ", axis));
  for (int d = 0; d < batch; ++d)
    if (params.dim(d) != indices.dim(d))
      return Unexpected(invalidArgument("batch dimension ", d, " is ", params.dim(d),
                                        " in params, but ", indices.dim(d), " in indices"));
  GatherShape shape;
  shape.batches = countBetween(params.dims(), 0, batch);
  shape.outer = countBetween(params.dims(), batch, axis);
  shape.limit = params.dim(static_cast<int>(axis));
  shape.indices = countBetween(indices.dims(), batch, indices.rank());
  shape.inner = countBetween(params.dims(), axis + 1, rank);
  for (int64_t d = 0; d < axis; ++d)
    shape.result.push(params.dims()[d]);
  for (int64_t d = batch; d < indices.rank(); ++d)
    shape.result.push(indices.dims()[d]);
  for (int64_t d = axis + 1; d < rank; ++d)
    shape.result.push(params.dims()[d]);
  return shape;
}

// Returns the position of the first index outside [0, limit); -1 if there is none.
template <typename Index> int64_t findOutside(const Tensor &indices, int64_t limit) {
  const Index *values = indices.data<Index>();
  for (int64_t i = 0; i < indices.count(); ++i)
    if (values[i] < 0 || values[i] >= limit)
      return i;
  return -1;
}

/// Gathers the rows [begin, end) of the result's [batches * outer * indices].
template <typename T, typename Index>
void gatherRows(const GatherShape &s, const T *params, const Index *indices, T *out, int64_t begin,
                int64_t end) {
  while (begin < end) {
    int64_t block = begin / s.indices, i = begin % s.indices;
    int64_t last = std::min(s.indices, i + end - begin);
    const Index *at = indices + block / s.outer * s.indices;
    const T *from = params + block * s.limit * s.inner;
    T *to = out + begin * s.inner;
    begin += last - i;
    if (s.inner == 1)
      for (; i < last; ++i)
        *to++ = from[at[i]];
    else
      for (; i < last; ++i, to += s.inner)
        std::copy_n(from + at[i] * s.inner, s.inner, to);
  }
}

// Formats the position of element `i`: `[1,0]`.
std::string positionText(const Tensor &t, int64_t i) {
  DimVector at, strides = rowMajorStrides(t.dims());
  for (int d = 0; d < t.rank(); ++d)
    at.push(i / strides[d] % t.dim(d));
  return dimsText(at);
}

template <typename Index> void gather(OpContext &ctx, int64_t axis, int64_t batchDims) {
  const Tensor &params = ctx.input(0), &indices = ctx.input(1);
  auto shape = TREADLE_OR_RETURN(ctx.check(gatherShape(params, indices, axis, batchDims)));
  Tensor *out = ctx.allocateOutput(0, params.dtype(), shape.result);
  if (!out || !out->count())
    return;
  if (int64_t bad = findOutside<Index>(indices, shape.limit); bad >= 0)
    return ctx.fail(invalidArgument("indices", positionText(indices, bad), " = ",
                                    indices.data<Index>()[bad], " is not in [0, ", shape.limit,
                                    ")"));
  visitMoved(params.dtype(), [&]<typename T>() {
    ctx.parallelFor(shape.batches * shape.outer * shape.indices,
                    1 + static_cast<double>(shape.inner) / 4, [&](int64_t begin, int64_t end) {
                      gatherRows(shape, params.data<T>(), indices.data<Index>(), out->data<T>(),
                                 begin, end);
                    });
  });
}

template <typename Index> void gatherV1(OpContext &ctx) { gather<Index>(ctx, 0, 0); }

template <typename Index> void gatherV2(OpContext &ctx) {
  const Tensor &axis = ctx.input(2);
  if (axis.count() != 1 || axis.rank() > 0)
    return ctx.fail(invalidArgument("axis must be a scalar, but it is ", tensorTypeText(axis)));
  gather<Index>(ctx, indexAt(axis, 0), ctx.state<int64_t>());
}

template <KernelFn fn16, KernelFn fn32, KernelFn fn64>
Expected<BoundKernel> bindIndexed(const BindContext &node) {
  int64_t batchDims = node.attrs.getOr<int64_t>("batch_dims", 0);
  switch (node.inputTypes[1]) {
  case DType::Int16:
    return boundWith(fn16, batchDims);
  case DType::Int32:
    return boundWith(fn32, batchDims);
  case DType::Int64:
    return boundWith(fn64, batchDims);
  default:
    return unsupportedDType(node, node.inputTypes[1]);
  }
}

// --- by coordinates ----------------------------------------------------------------------------

/// Copies the rows of `inner` elements at `sources` to the rows of `out` from `first` on; those at
/// negative offsets become zero. Returns the position of the first of these, or the number of rows.
int64_t copyRowsAt(Tensor &out, int64_t first, const Tensor &params,
                   std::span<const int64_t> sources, int64_t inner) {
  int64_t bad = std::ssize(sources);
  visitMoved(params.dtype(), [&]<typename T>() {
    T *to = out.data<T>() + first * inner;
    const T *from = params.data<T>();
    for (size_t i = 0; i < sources.size(); ++i, to += inner)
      if (sources[i] < 0) {
        std::fill_n(to, inner, T());
        bad = std::min(bad, static_cast<int64_t>(i));
      } else if (inner == 1) {
        *to = from[sources[i]];
      } else {
        std::copy_n(from + sources[i], inner, to);
      }
  });
  return bad;
}

void gatherNd(OpContext &ctx) {
  const Tensor &params = ctx.input(0), &indices = ctx.input(1);
  if (params.rank() < 1 || indices.rank() < 1)
    return ctx.fail(invalidArgument("params and indices must have at least one dimension, but they "
                                    "are ",
                                    tensorTypeText(params), " and ", tensorTypeText(indices)));
  int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > params.rank())
    return ctx.fail(invalidArgument("indices have ", depth,
                                    " coordinates each, but params has shape ",
                                    dimsText(params.dims())));
  int64_t rows = countBetween(indices.dims(), 0, indices.rank() - 1);
  int64_t inner = countBetween(params.dims(), depth, params.rank());
  DimVector dims(indices.dims().first(indices.rank() - 1));
  for (int64_t d = depth; d < params.rank(); ++d)
    dims.push(params.dims()[d]);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, params.dtype(), dims));
  if (rows && !params.count())
    return ctx.fail(invalidArgument("indices select ", rows, " entries, but params is empty"));
  IndexedOffsets offsets = IndexedOffsets::ofRows(indices, params.dims());
  bool ignores = ctx.state<BadIndices>() == BadIndices::Ignore;
  std::atomic<int64_t> bad = rows; // the first row out of range, if any
  ctx.parallelFor(rows, 2 + static_cast<double>(inner) / 4, [&](int64_t begin, int64_t end) {
    forEachOffsetBlock(begin, end, [&](int64_t first, int64_t count) {
      int64_t sources[offsetsPerBlock];
      offsets.compute(first, count, sources);
      int64_t found = copyRowsAt(*out, first, params, {sources, static_cast<size_t>(count)}, inner);
      if (found < count && !ignores)
        for (int64_t seen = bad;
             first + found < seen && !bad.compare_exchange_weak(seen, first + found);)
          ;
    });
  });
  if (bad < rows)
    ctx.fail(invalidArgument("indices[", bad.load(), "] = ", dimsText(coordinatesAt(indices, bad)),
                             " does not index into params of shape ", dimsText(params.dims())));
}

Expected<BoundKernel> bindGatherNd(const BindContext &node) {
  DType index = node.inputTypes[1];
  if (index != DType::Int16 && index != DType::Int32 && index != DType::Int64)
    return unsupportedDType(node, index);
  bool ignores = node.attrs.getOr("bad_indices_policy", std::string()) == "IGNORE";
  return boundWith(gatherNd, ignores ? BadIndices::Ignore : BadIndices::Fail);
}

const KernelEntry gatherTable[] = {
    {"Gather", bindIndexed<gatherV1<int16_t>, gatherV1<int32_t>, gatherV1<int64_t>>},
    {"GatherNd", bindGatherNd},
    {"GatherV2", bindIndexed<gatherV2<int16_t>, gatherV2<int32_t>, gatherV2<int64_t>>},
};

} // namespace

std::span<const KernelEntry> gatherKernels() { return gatherTable; }

} // namespace treadle
