// Sums, products and extremes of the rows that share a segment id: SegmentX with sorted ids,
// UnsortedSegmentX with ids in any order and of any rank.
#include "treadle/kernels/reductions/SegmentRows.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

// Returns the dimensions of `data` without the first `skip`, preceded by the number of segments.
std::vector<int64_t> dimsOfSegments(const Tensor &data, int skip, int64_t segments) {
  std::vector<int64_t> dims = {segments};
  dims.insert(dims.end(), data.dims().begin() + skip, data.dims().end());
  return dims;
}

// --- sorted ids --------------------------------------------------------------------------------

bool checkSorted(OpContext &ctx, const Tensor &data, const Tensor &segmentIds) {
  if (data.rank() < 1) {
    ctx.fail(invalidArgument("data must be at least of rank 1, but is a scalar"));
  } else if (segmentIds.rank() != 1 || segmentIds.dim(0) != data.dim(0)) {
    ctx.fail(
        invalidArgument("segment_ids must be a vector of the length of data's first dimension ",
                        data.dim(0), ", but has shape ", dimsText(segmentIds.dims())));
  } else {
    IdList ids(segmentIds);
    int64_t n = segmentIds.count();
    if (n && ids[0] < 0)
      ctx.fail(invalidArgument("segment_ids[0] = ", ids[0], ", but ids must not be negative"));
    for (int64_t i = 1; i < n && !ctx.hasFailed(); ++i)
      if (ids[i] < ids[i - 1])
        ctx.fail(invalidArgument("segment_ids[", i, "] = ", ids[i], " is less than the id before, ",
                                 ids[i - 1], "; sort them, or use the unsorted op"));
  }
  return !ctx.hasFailed();
}

void runSorted(OpContext &ctx) {
  const SegmentRows &rows = ctx.state<SegmentRows>();
  const Tensor data = ctx.input(0), segmentIds = ctx.input(1);
  if (!checkSorted(ctx, data, segmentIds))
    return;
  IdList ids(segmentIds);
  int64_t n = segmentIds.count(), segments = segmentsOf(ids, n);
  Tensor *out = ctx.allocateOutput(0, data.dtype(), dimsOfSegments(data, 1, segments));
  if (!out || !out->count())
    return;
  int64_t width = data.count() / n;
  size_t bytes = static_cast<size_t>(width) * rows.size;
  const char *from = data.data<char>();
  char *into = out->data<char>();
  int64_t next = 0; // the first segment that isn't written yet
  for (int64_t begin = 0, end; begin < n; begin = end) {
    int64_t id = ids[begin];
    for (; next < id; ++next)
      rows.fill(into + next * bytes, width);
    char *row = into + id * bytes;
    std::memcpy(row, from + begin * bytes, bytes);
    for (end = begin + 1; end < n && ids[end] == id; ++end)
      rows.combine(row, from + end * bytes, width);
    if (rows.kind == SegmentKind::Mean)
      rows.divide(row, width, static_cast<double>(end - begin));
    next = id + 1;
  }
}

// --- ids in any order --------------------------------------------------------------------------

// Reads an int32 or int64 scalar; false, with ctx failed, for anything else.
bool readCount(OpContext &ctx, const Tensor &t, int64_t &value) {
  if (!t.isScalar()) {
    ctx.fail(invalidArgument("num_segments must be a scalar, but has shape ", dimsText(t.dims())));
    return false;
  }
  value = IdList(t)[0];
  if (value >= 0)
    return true;
  ctx.fail(invalidArgument("num_segments must not be negative, but is ", value));
  return false;
}

bool checkUnsorted(OpContext &ctx, const Tensor &data, const Tensor &segmentIds, int64_t segments) {
  int rank = segmentIds.rank();
  if (rank > data.rank() || !std::ranges::equal(segmentIds.dims(), data.dims().first(rank))) {
    ctx.fail(invalidArgument("data's shape ", dimsText(data.dims()),
                             " must start with segment_ids' shape ", dimsText(segmentIds.dims())));
    return false;
  }
  IdList ids(segmentIds);
  for (int64_t i = 0; i < segmentIds.count(); ++i)
    if (ids[i] >= segments) {
      ctx.fail(invalidArgument("segment_ids[", i, "] = ", ids[i], " is out of range [0, ", segments,
                               ")"));
      return false;
    }
  return true;
}

// Rows with negative ids are dropped.
void runUnsorted(OpContext &ctx) {
  const SegmentRows &rows = ctx.state<SegmentRows>();
  const Tensor data = ctx.input(0), segmentIds = ctx.input(1);
  int64_t segments = 0;
  if (!readCount(ctx, ctx.input(2), segments) || !checkUnsorted(ctx, data, segmentIds, segments))
    return;
  Tensor *out =
      ctx.allocateOutput(0, data.dtype(), dimsOfSegments(data, segmentIds.rank(), segments));
  if (!out || !out->count())
    return;
  IdList ids(segmentIds);
  int64_t n = segmentIds.count(), width = out->count() / segments;
  size_t bytes = static_cast<size_t>(width) * rows.size;
  rows.fill(out->raw(), out->count());
  for (int64_t i = 0; i < n; ++i)
    if (ids[i] >= 0)
      rows.combine(out->data<char>() + ids[i] * bytes, data.data<char>() + i * bytes, width);
}

// --- tables ------------------------------------------------------------------------------------

template <SegmentKind kind, bool isSorted>
Expected<BoundKernel> bindSegment(const BindContext &node) {
  SegmentRows rows;
  if (!segmentRowsFor(kind, node.inputTypes[0], !isSorted, rows))
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(isSorted ? runSorted : runUnsorted, rows);
}

const KernelEntry segmentTable[] = {
    {"SegmentSum", bindSegment<SegmentKind::Sum, true>},
    {"SegmentProd", bindSegment<SegmentKind::Prod, true>},
    {"SegmentMean", bindSegment<SegmentKind::Mean, true>},
    {"SegmentMax", bindSegment<SegmentKind::Max, true>},
    {"SegmentMin", bindSegment<SegmentKind::Min, true>},
    // The V2 ops take the number of segments, and ids in any order.
    {"SegmentSumV2", bindSegment<SegmentKind::Sum, false>},
    {"SegmentProdV2", bindSegment<SegmentKind::Prod, false>},
    {"SegmentMaxV2", bindSegment<SegmentKind::Max, false>},
    {"SegmentMinV2", bindSegment<SegmentKind::Min, false>},
    {"UnsortedSegmentSum", bindSegment<SegmentKind::Sum, false>},
    {"UnsortedSegmentProd", bindSegment<SegmentKind::Prod, false>},
    {"UnsortedSegmentMax", bindSegment<SegmentKind::Max, false>},
    {"UnsortedSegmentMin", bindSegment<SegmentKind::Min, false>},
};

} // namespace

std::span<const KernelEntry> segmentKernels() { return segmentTable; }

} // namespace treadle
