// Slices: by begin and size, and strided with masks; their gradient and their update.
#include "treadle/kernels/arrays/Slice.h"

#include "treadle/kernels/Element.h"
#include "treadle/kernels/Families.h"

#include <algorithm>

namespace treadle {

// --- regions -----------------------------------------------------------------------------------

SliceMasks SliceMasks::of(const AttrMap &attrs) {
  auto mask = [&](std::string_view name) { return attrs.getOr<int64_t>(name, 0); };
  return {mask("begin_mask"), mask("end_mask"), mask("ellipsis_mask"), mask("new_axis_mask"),
          mask("shrink_axis_mask")};
}

int64_t StridedRegion::offset(Dims whole) const {
  DimVector strides = rowMajorStrides(whole);
  int64_t offset = 0;
  for (size_t d = 0; d < whole.size(); ++d)
    offset += begin[d] * strides[d];
  return offset;
}

DimVector StridedRegion::steps(Dims whole) const {
  DimVector steps = rowMajorStrides(whole);
  for (size_t d = 0; d < whole.size(); ++d)
    steps[d] *= stride[d];
  return steps;
}

bool StridedRegion::isContiguous(Dims whole) const {
  size_t d = 0;
  while (d < whole.size() && size[d] == 1)
    ++d;
  if (d < whole.size() && stride[d] != 1)
    return false;
  for (++d; d < whole.size(); ++d)
    if (size[d] != whole[d] || (stride[d] != 1 && size[d] != 1))
      return false;
  return true;
}

namespace {

bool hasBit(int64_t mask, int64_t bit) { return bit < 64 && (mask >> bit & 1); }

// Begin, end and stride of one dimension, as given by the slice.
struct DimSlice {
  int64_t begin = 0, end = 0, stride = 1;
  bool isBeginOpen = true, isEndOpen = true, isShrunk = false;
};

// Resolves the slice for the size of its dimension. Returns the number of elements, or an error.
Expected<int64_t> resolveDim(DimSlice &slice, int64_t dim, int64_t axis) {
  if (slice.stride == 0)
    return Unexpected(invalidArgument("stride of dimension ", axis, " must not be 0"));
  bool forward = slice.stride > 0;
  if (slice.isShrunk) {
    if (!forward)
      return Unexpected(invalidArgument("dimension ", axis,
                                        " is indexed by a single number: expected stride 1, found ",
                                        slice.stride));
    int64_t index = slice.begin < 0 ? slice.begin + dim : slice.begin;
    if (index < 0 || index >= dim)
      return Unexpected(invalidArgument("slice index ", slice.begin, " of dimension ", axis,
                                        " is out of bounds: its size is ", dim));
    slice.begin = index;
    return 1;
  }
  int64_t low = forward ? 0 : -1, high = forward ? dim : dim - 1;
  auto clamp = [&](int64_t x) { return std::clamp(x < 0 ? x + dim : x, low, high); };
  slice.begin = slice.isBeginOpen ? (forward ? low : high) : clamp(slice.begin);
  slice.end = slice.isEndOpen ? (forward ? high : low) : clamp(slice.end);
  int64_t interval = slice.end - slice.begin;
  if (interval == 0 || (interval < 0) == forward)
    return 0;
  return interval / slice.stride + (interval % slice.stride != 0);
}

Error outOfDimensions(int64_t entries, Dims whole) {
  return invalidArgument("slice indexes at least ", entries,
                         " dimensions, but the input has shape ", dimsText(whole));
}

} // namespace

Expected<StridedRegion> resolveRegion(Dims whole, const Tensor &begin, const Tensor &end,
                                      const Tensor &strides, const SliceMasks &masks) {
  int64_t entries = begin.count();
  if (begin.rank() != 1 || end.rank() != 1 || strides.rank() != 1 || end.count() != entries ||
      strides.count() != entries || entries >= 32)
    return Unexpected(invalidArgument(
        "begin, end and strides must be vectors of the same size below 32, but they are ",
        tensorTypeText(begin), ", ", tensorTypeText(end), " and ", tensorTypeText(strides)));

  int64_t ellipsis = entries, newAxesAfter = 0; // without an ellipsis, one is implied at the end
  for (int64_t i = 0; i < entries; ++i) {
    if (hasBit(masks.ellipsis, i)) {
      if (ellipsis < entries)
        return Unexpected(invalidArgument("slice has more than one ellipsis"));
      ellipsis = i;
    } else if (ellipsis < entries && hasBit(masks.newAxis, i)) {
      ++newAxesAfter;
    }
  }

  int64_t rank = static_cast<int64_t>(whole.size());
  int64_t total = entries + (ellipsis == entries);
  StridedRegion region;
  auto addDim = [&](DimSlice slice) -> Expected<void> {
    int64_t d = static_cast<int64_t>(region.size.size());
    int64_t size = TREADLE_TRY(resolveDim(slice, whole[d], d));
    region.begin.push(slice.begin);
    region.stride.push(slice.stride);
    region.size.push(size);
    if (!slice.isShrunk) {
      region.resultDims.push(size);
      region.resultAxes.push(d);
    }
    return {};
  };
  for (int64_t i = 0; i < total; ++i) {
    if (i == ellipsis) {
      int64_t next = std::min(rank - (total - i) + 1 + newAxesAfter, rank);
      while (static_cast<int64_t>(region.size.size()) < next)
        TREADLE_TRY(addDim({}));
    } else if (hasBit(masks.newAxis, i)) {
      region.resultDims.push(1);
      region.resultAxes.push(-1);
    } else {
      if (static_cast<int64_t>(region.size.size()) == rank)
        return Unexpected(outOfDimensions(rank + 1, whole));
      DimSlice slice{indexAt(begin, i),      indexAt(end, i),      indexAt(strides, i),
                     hasBit(masks.begin, i), hasBit(masks.end, i), hasBit(masks.shrinkAxis, i)};
      TREADLE_TRY(addDim(slice));
    }
  }
  return region;
}

// Returns the strides of `value`, broadcast to the region's result, along the dimensions of the
// whole; nullopt if it doesn't broadcast.
static std::optional<DimVector> broadcastSteps(const StridedRegion &region, const Tensor &value) {
  DimVector steps(region.size.size()), strides = rowMajorStrides(value.dims());
  int pad = static_cast<int>(region.resultDims.size()) - value.rank();
  for (int d = 0; d < value.rank(); ++d) {
    int64_t n = value.dim(d);
    if (n != 1 && (d + pad < 0 || n != region.resultDims[d + pad]))
      return std::nullopt;
    if (n != 1 && region.resultAxes[d + pad] >= 0)
      steps[region.resultAxes[d + pad]] = strides[d];
  }
  return steps;
}

Expected<void> assignRegion(Tensor &whole, const StridedRegion &region, const Tensor &value) {
  std::optional<DimVector> steps = broadcastSteps(region, value);
  if (!steps)
    return Unexpected(invalidArgument("value has shape ", dimsText(value.dims()),
                                      ", which cannot be broadcast to the slice's, ",
                                      dimsText(region.resultDims)));
  if (countElements(region.size) == 0)
    return {};
  Dims dims = whole.dims();
  copyStrided(whole.dtype(), region.size,
              elementAt(whole.dtype(), whole.raw(), region.offset(dims)), region.steps(dims),
              value.raw(), *steps);
  return {};
}

namespace {

// --- reading -----------------------------------------------------------------------------------

// Regions of at least this size are returned as views if possible.
constexpr size_t minViewBytes = 512;

void setRegion(OpContext &ctx, const StridedRegion &region) {
  const Tensor &in = ctx.input(0);
  DType dtype = in.dtype();
  if (std::ranges::equal(region.size, in.dims()) && region.isContiguous(in.dims())) {
    Tensor all = ctx.takeInput(0);
    return ctx.setOutput(0, std::ranges::equal(region.resultDims, all.dims())
                                ? all
                                : all.withDims(region.resultDims));
  }
  std::optional<int64_t> count = countElements(region.size);
  bool isEmpty = count == 0, isContiguous = !isEmpty && region.isContiguous(in.dims());
  int64_t offset = isEmpty ? 0 : region.offset(in.dims());
  if (isContiguous && static_cast<size_t>(*count) * dtypeSize(dtype) >= minViewBytes)
    return ctx.setOutput(0, in.view(offset, region.resultDims));
  Tensor *out = ctx.allocateOutput(0, dtype, region.resultDims);
  if (!out || isEmpty)
    return;
  const void *from = elementAt(dtype, in.raw(), offset);
  if (isContiguous)
    copyElements(dtype, out->raw(), from, *count);
  else
    copyStrided(dtype, region.size, out->raw(), rowMajorStrides(region.size), from,
                region.steps(in.dims()));
}

void stridedSlice(OpContext &ctx) {
  auto region = ctx.check(resolveRegion(ctx.input(0).dims(), ctx.input(1), ctx.input(2),
                                        ctx.input(3), ctx.state<SliceMasks>()));
  if (region)
    setRegion(ctx, *region);
}

Expected<StridedRegion> plainRegion(Dims whole, const Tensor &begin, const Tensor &size) {
  int64_t rank = static_cast<int64_t>(whole.size());
  if (begin.rank() != 1 || size.rank() != 1 || begin.count() != rank || size.count() != rank)
    return Unexpected(invalidArgument("begin and size must be vectors of ", rank,
                                      " elements, the input's rank, but they are ",
                                      tensorTypeText(begin), " and ", tensorTypeText(size)));
  StridedRegion region;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t from = indexAt(begin, d), asked = indexAt(size, d);
    if (from < 0 || from > whole[d])
      return Unexpected(
          invalidArgument("begin[", d, "] is ", from, ", expected one in [0, ", whole[d], "]"));
    int64_t n = asked == -1 ? whole[d] - from : asked;
    if (n < 0 || n > whole[d] - from)
      return Unexpected(invalidArgument("size[", d, "] is ", asked, ", expected one in [0, ",
                                        whole[d] - from, "]"));
    region.begin.push(from);
    region.stride.push(1);
    region.size.push(n);
  }
  region.resultDims = region.size;
  for (int64_t d = 0; d < rank; ++d)
    region.resultAxes.push(d);
  return region;
}

void slice(OpContext &ctx) {
  auto region = ctx.check(plainRegion(ctx.input(0).dims(), ctx.input(1), ctx.input(2)));
  if (region)
    setRegion(ctx, *region);
}

// --- writing -----------------------------------------------------------------------------------

void stridedSliceGrad(OpContext &ctx) {
  const Tensor &shape = ctx.input(0), &gradient = ctx.input(4);
  if (shape.rank() != 1)
    return ctx.fail(invalidArgument("shape must be a vector, but it is ", tensorTypeText(shape)));
  DimVector dims = readIndices(shape);
  if (std::ranges::any_of(dims, [](int64_t d) { return d < 0; }))
    return ctx.fail(invalidArgument("shape ", dimsText(dims), " has a negative dimension"));
  auto region = TREADLE_OR_RETURN(ctx.check(
      resolveRegion(dims, ctx.input(1), ctx.input(2), ctx.input(3), ctx.state<SliceMasks>())));
  if (!std::ranges::equal(gradient.dims(), region.resultDims))
    return ctx.fail(invalidArgument("dy has shape ", dimsText(gradient.dims()),
                                    ", but the slice has shape ", dimsText(region.resultDims)));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, gradient.dtype(), dims));
  zeroElements(out->dtype(), out->raw(), out->count());
  (void)ctx.check(assignRegion(*out, region, gradient).map([] { return true; }));
}

// Returns input `i` as a writable tensor.
std::optional<Tensor> takeWritable(OpContext &ctx, int i) {
  if (ctx.canReuseInput(i))
    return ctx.takeInput(i);
  return ctx.check(ctx.input(i).clone());
}

void stridedSliceUpdate(OpContext &ctx) {
  auto region = TREADLE_OR_RETURN(ctx.check(resolveRegion(
      ctx.input(0).dims(), ctx.input(1), ctx.input(2), ctx.input(3), ctx.state<SliceMasks>())));
  Tensor value = ctx.input(4);
  auto whole = TREADLE_OR_RETURN(takeWritable(ctx, 0));
  if (ctx.check(assignRegion(whole, region, value).map([] { return true; })))
    ctx.setOutput(0, std::move(whole));
}

template <KernelFn fn> Expected<BoundKernel> bindMasked(const BindContext &node) {
  return boundWith(fn, SliceMasks::of(node.attrs));
}

const KernelEntry sliceTable[] = {
    {"Slice", bindPlain<slice>},
    {"StridedSlice", bindMasked<stridedSlice>},
    {"StridedSliceGrad", bindMasked<stridedSliceGrad>},
    {"TensorStridedSliceUpdate", bindMasked<stridedSliceUpdate>},
};

} // namespace

std::span<const KernelEntry> sliceKernels() { return sliceTable; }

} // namespace treadle
