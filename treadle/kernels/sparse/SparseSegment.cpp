// Sums and means of gathered rows by sorted segment ids (used by embedding lookups), and their
// gradients.
#include "treadle/kernels/reductions/SegmentRows.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace treadle {
namespace {

std::vector<int64_t> withFirstDim(const Tensor &data, int64_t first) {
  std::vector<int64_t> dims(data.dims().begin(), data.dims().end());
  dims[0] = first;
  return dims;
}

// Checks inputs: data, indices and segment ids of the same length, number of segments.
bool checkShapes(OpContext &ctx) {
  const Tensor &rows = ctx.input(0), &indices = ctx.input(1), &ids = ctx.input(2);
  if (rows.rank() < 1)
    ctx.fail(invalidArgument("input 0 must be at least of rank 1, but is a scalar"));
  else if (indices.rank() != 1 || ids.rank() != 1 || indices.count() != ids.count())
    ctx.fail(
        invalidArgument("indices and segment_ids must be vectors of one length, but have shapes ",
                        dimsText(indices.dims()), " and ", dimsText(ids.dims())));
  else if (ctx.numInputs() > 3 && !ctx.input(3).isScalar())
    ctx.fail(invalidArgument("input 3, the number of rows, must be a scalar, but has shape ",
                             dimsText(ctx.input(3).dims())));
  return !ctx.hasFailed();
}

bool checkRange(OpContext &ctx, const char *what, const Tensor &t, int64_t limit) {
  IdList list(t);
  for (int64_t i = 0; i < t.count(); ++i)
    if (list[i] < 0 || list[i] >= limit) {
      ctx.fail(invalidArgument(what, "[", i, "] = ", list[i], " is out of range [0, ", limit, ")"));
      return false;
    }
  return true;
}

bool checkSorted(OpContext &ctx, const Tensor &t) {
  IdList ids(t);
  for (int64_t i = 1; i < t.count(); ++i)
    if (ids[i] < ids[i - 1]) {
      ctx.fail(invalidArgument("segment_ids[", i, "] = ", ids[i], " is less than the id before, ",
                               ids[i - 1], "; they must be sorted"));
      return false;
    }
  return true;
}

double divisorOf(SegmentKind kind, int64_t members) {
  if (kind == SegmentKind::Mean)
    return static_cast<double>(members);
  return kind == SegmentKind::SqrtN ? std::sqrt(static_cast<double>(members)) : 1;
}

// --- forward -----------------------------------------------------------------------------------

void runForward(OpContext &ctx) {
  const SegmentRows &rows = ctx.state<SegmentRows>();
  if (!checkShapes(ctx))
    return;
  const Tensor data = ctx.input(0), indexTensor = ctx.input(1), idTensor = ctx.input(2);
  IdList indices(indexTensor), ids(idTensor);
  int64_t n = idTensor.count(), segments = segmentsOf(ids, n);
  if (ctx.numInputs() > 3)
    segments = IdList(ctx.input(3))[0];
  if (segments < 0 && ctx.numInputs() > 3)
    return ctx.fail(invalidArgument("num_segments must not be negative, but is ", segments));
  if (!checkRange(ctx, "segment_ids", idTensor, std::max<int64_t>(segments, 0)) ||
      !checkSorted(ctx, idTensor) || !checkRange(ctx, "indices", indexTensor, data.dim(0)))
    return;
  Tensor *out = ctx.allocateOutput(0, data.dtype(), withFirstDim(data, segments));
  if (!out || !out->count())
    return;
  rows.fill(out->raw(), out->count());
  int64_t width = out->count() / segments;
  size_t bytes = static_cast<size_t>(width) * rows.size;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    char *row = out->data<char>() + ids[begin] * bytes;
    for (end = begin; end < n && ids[end] == ids[begin]; ++end)
      rows.combine(row, data.data<char>() + indices[end] * bytes, width);
    if (rows.kind != SegmentKind::Sum)
      rows.divide(row, width, divisorOf(rows.kind, end - begin));
  }
}

// --- gradients ---------------------------------------------------------------------------------

// Adds each segment's gradient, scaled as in the forward op, to row `rowOf(i)` of the output.
template <typename RowOf>
void scatterGradient(const SegmentRows &rows, const Tensor &gradient, const Tensor &idTensor,
                     RowOf rowOf, Tensor &out) {
  IdList ids(idTensor);
  std::vector<int64_t> members(static_cast<size_t>(gradient.dim(0)));
  for (int64_t i = 0; i < idTensor.count(); ++i)
    ++members[ids[i]];
  rows.fill(out.raw(), out.count());
  int64_t width = out.count() / out.dim(0);
  size_t bytes = static_cast<size_t>(width) * rows.size;
  for (int64_t i = 0; i < idTensor.count(); ++i)
    rows.addScaled(out.data<char>() + rowOf(i) * bytes, gradient.data<char>() + ids[i] * bytes,
                   width, 1 / divisorOf(rows.kind, members[ids[i]]));
}

// Checks all inputs; returns the number of gathered rows, or -1 after failing the op.
int64_t checkGradient(OpContext &ctx) {
  if (!checkShapes(ctx))
    return -1;
  int64_t rowCount = IdList(ctx.input(3))[0];
  if (rowCount < 0) {
    ctx.fail(invalidArgument("the number of rows must not be negative, but is ", rowCount));
    return -1;
  }
  bool isRight = checkRange(ctx, "segment_ids", ctx.input(2), ctx.input(0).dim(0)) &&
                 checkRange(ctx, "indices", ctx.input(1), rowCount);
  return isRight ? rowCount : -1;
}

void runGradient(OpContext &ctx) {
  int64_t rowCount = checkGradient(ctx);
  if (rowCount < 0)
    return;
  const Tensor gradient = ctx.input(0), indexTensor = ctx.input(1), idTensor = ctx.input(2);
  Tensor *out = ctx.allocateOutput(0, gradient.dtype(), withFirstDim(gradient, rowCount));
  if (!out || !out->count())
    return;
  IdList indices(indexTensor);
  scatterGradient(
      ctx.state<SegmentRows>(), gradient, idTensor, [&](int64_t i) { return indices[i]; }, *out);
}

// V2: outputs gradients of the gathered rows only, and the indices of these.
void runCompactGradient(OpContext &ctx) {
  if (checkGradient(ctx) < 0)
    return;
  const Tensor gradient = ctx.input(0), indexTensor = ctx.input(1), idTensor = ctx.input(2);
  IdList indices(indexTensor);
  std::vector<int64_t> unique(static_cast<size_t>(indexTensor.count()));
  for (size_t i = 0; i < unique.size(); ++i)
    unique[i] = indices[static_cast<int64_t>(i)];
  std::ranges::sort(unique);
  unique.erase(std::ranges::unique(unique).begin(), unique.end());
  auto rowCount = static_cast<int64_t>(unique.size());
  Tensor *out = ctx.allocateOutput(0, gradient.dtype(), withFirstDim(gradient, rowCount));
  Tensor *which = ctx.allocateOutput(1, indexTensor.dtype(), {rowCount});
  if (!out || !which)
    return;
  for (int64_t i = 0; i < rowCount; ++i)
    if (which->dtype() == DType::Int64)
      which->data<int64_t>()[i] = unique[i];
    else
      which->data<int32_t>()[i] = static_cast<int32_t>(unique[i]);
  if (!out->count())
    return;
  auto rowOf = [&](int64_t i) {
    return std::ranges::lower_bound(unique, indices[i]) - unique.begin();
  };
  scatterGradient(ctx.state<SegmentRows>(), gradient, idTensor, rowOf, *out);
}

// --- op tables ---------------------------------------------------------------------------------

template <SegmentKind kind, KernelFn fn>
Expected<BoundKernel> bindSparseSegment(const BindContext &node) {
  SegmentRows rows;
  bool isSum = kind == SegmentKind::Sum && fn == runForward;
  if (isComplex(node.inputTypes[0]) || !segmentRowsFor(kind, node.inputTypes[0], false, rows) ||
      (!isSum && !rows.addScaled))
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(fn, rows);
}

using enum SegmentKind;
const KernelEntry sparseSegmentTable[] = {
    {"SparseSegmentSum", bindSparseSegment<Sum, runForward>},
    {"SparseSegmentMean", bindSparseSegment<Mean, runForward>},
    {"SparseSegmentSqrtN", bindSparseSegment<SqrtN, runForward>},
    {"SparseSegmentSumWithNumSegments", bindSparseSegment<Sum, runForward>},
    {"SparseSegmentMeanWithNumSegments", bindSparseSegment<Mean, runForward>},
    {"SparseSegmentSqrtNWithNumSegments", bindSparseSegment<SqrtN, runForward>},
    {"SparseSegmentSumGrad", bindSparseSegment<Sum, runGradient>},
    {"SparseSegmentMeanGrad", bindSparseSegment<Mean, runGradient>},
    {"SparseSegmentSqrtNGrad", bindSparseSegment<SqrtN, runGradient>},
    {"SparseSegmentSumGradV2", bindSparseSegment<Sum, runCompactGradient>},
    {"SparseSegmentMeanGradV2", bindSparseSegment<Mean, runCompactGradient>},
    {"SparseSegmentSqrtNGradV2", bindSparseSegment<SqrtN, runCompactGradient>},
};

} // namespace

std::span<const KernelEntry> sparseSegmentKernels() { return sparseSegmentTable; }

} // namespace treadle
