// Reverse, ReverseSequence and Roll.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {
namespace {

// --- whole dimensions --------------------------------------------------------------------------

void reverseAlong(OpContext &ctx, const DimVector &isReversed) {
  const Tensor &in = ctx.input(0);
  if (std::ranges::find(isReversed, 1) == isReversed.end())
    return ctx.setOutput(0, ctx.takeInput(0));
  Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
  if (!out || !out->count())
    return;
  DimVector strides = rowMajorStrides(in.dims()), steps = strides;
  int64_t start = 0;
  for (int d = 0; d < in.rank(); ++d) {
    if (!isReversed[d])
      continue;
    start += (in.dim(d) - 1) * strides[d];
    steps[d] = -strides[d];
  }
  copyStrided(in.dtype(), in.dims(), out->raw(), strides, elementAt(in.dtype(), in.raw(), start),
              steps);
}

void reverse(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &dims = ctx.input(1);
  if (dims.rank() != 1 || dims.count() != in.rank())
    return ctx.fail(invalidArgument("dims is ", tensorTypeText(dims), ", expected a vector of ",
                                    in.rank(), ", the input's rank"));
  DimVector isReversed;
  for (bool reverses : dims.values<bool>())
    isReversed.push(reverses);
  reverseAlong(ctx, isReversed);
}

void reverseV2(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &axes = ctx.input(1);
  if (axes.rank() != 1)
    return ctx.fail(invalidArgument("axis must be a vector, but it is ", tensorTypeText(axes)));
  DimVector isReversed(static_cast<size_t>(in.rank()));
  for (int64_t i = 0; i < axes.count(); ++i) {
    int64_t axis = normalizedAxis(indexAt(axes, i), in.rank());
    if (axis < 0)
      return ctx.fail(invalidArgument("axis[", i, "] is ", indexAt(axes, i), ", expected one in [",
                                      -in.rank(), ", ", in.rank(), ")"));
    if (isReversed[axis]++)
      return ctx.fail(invalidArgument("axis contains dimension ", axis, " twice"));
  }
  reverseAlong(ctx, isReversed);
}

// --- sequences in a batch ----------------------------------------------------------------------

struct SequenceAxes {
  int64_t sequence, batch;
};

Expected<void> checkSequences(const Tensor &in, const Tensor &lengths, SequenceAxes axes) {
  int64_t rank = in.rank();
  if (lengths.rank() != 1)
    return Unexpected(
        invalidArgument("seq_lengths must be a vector, but it is ", tensorTypeText(lengths)));
  if (axes.sequence < 0 || axes.sequence >= rank || axes.batch < 0 || axes.batch >= rank ||
      axes.sequence == axes.batch)
    return Unexpected(invalidArgument("seq_dim is ", axes.sequence, " and batch_dim ", axes.batch,
                                      ", expected two dimensions of an input of rank ", rank));
  if (lengths.count() != in.dims()[axes.batch])
    return Unexpected(invalidArgument("seq_lengths has ", lengths.count(), " elements, expected ",
                                      in.dims()[axes.batch], ", the size of the batch"));
  for (int64_t b = 0; b < lengths.count(); ++b)
    if (int64_t n = indexAt(lengths, b); n < 0 || n > in.dims()[axes.sequence])
      return Unexpected(invalidArgument("seq_lengths[", b, "] is ", n, ", expected one in [0, ",
                                        in.dims()[axes.sequence], "]"));
  return {};
}

void reverseSequence(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &lengths = ctx.input(1);
  auto axes = ctx.state<SequenceAxes>();
  if (auto checked = checkSequences(in, lengths, axes); !checked)
    return ctx.fail(std::move(checked.error()));
  Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
  if (!out || !out->count())
    return;
  DimVector strides = rowMajorStrides(in.dims()), dims(in.dims()), steps = strides;
  int64_t stride = strides[axes.sequence], batchStride = strides[axes.batch];
  dims[axes.batch] = 1;
  steps[axes.sequence] = -stride;
  auto copy = [&](int64_t count, int64_t from, int64_t to, const DimVector &sourceSteps) {
    dims[axes.sequence] = count;
    copyStrided(in.dtype(), dims, elementAt(in.dtype(), out->raw(), to), strides,
                elementAt(in.dtype(), in.raw(), from), sourceSteps);
  };
  for (int64_t b = 0; b < lengths.count(); ++b) {
    int64_t n = indexAt(lengths, b), start = b * batchStride, rest = start + n * stride;
    if (n)
      copy(n, rest - stride, start, steps);
    copy(in.dims()[axes.sequence] - n, rest, rest, strides);
  }
}

Expected<BoundKernel> bindReverseSequence(const BindContext &node) {
  auto sequence = TREADLE_TRY(node.attrs.get<int64_t>("seq_dim"));
  return boundWith(reverseSequence,
                   SequenceAxes{sequence, node.attrs.getOr<int64_t>("batch_dim", 0)});
}

// --- roll --------------------------------------------------------------------------------------

void rollAlong(const Tensor &in, Tensor &out, int64_t axis, int64_t shift) {
  int64_t size = in.dims()[axis], inner = countBetween(in.dims(), axis + 1, in.rank());
  int64_t row = size * inner, head = shift * inner;
  DType dtype = in.dtype();
  for (int64_t at = 0; at < in.count(); at += row) {
    copyElements(dtype, elementAt(dtype, out.raw(), at + head), elementAt(dtype, in.raw(), at),
                 row - head);
    copyElements(dtype, elementAt(dtype, out.raw(), at),
                 elementAt(dtype, in.raw(), at + row - head), head);
  }
}

// Returns the shift of each dimension, in [0, size).
Expected<DimVector> readShifts(const Tensor &in, const Tensor &shift, const Tensor &axis) {
  if (in.rank() < 1 || shift.rank() > 1 || axis.rank() > 1 || shift.count() != axis.count())
    return Unexpected(invalidArgument(
        "expected an input of at least one dimension and one shift for each axis, but got ",
        tensorTypeText(in), ", ", tensorTypeText(shift), " and ", tensorTypeText(axis)));
  DimVector shifts(static_cast<size_t>(in.rank()));
  for (int64_t i = 0; i < axis.count(); ++i) {
    int64_t d = normalizedAxis(indexAt(axis, i), in.rank());
    if (d < 0)
      return Unexpected(invalidArgument("axis[", i, "] is ", indexAt(axis, i),
                                        ", but the input has ", in.rank(), " dimensions"));
    int64_t size = std::max<int64_t>(in.dims()[d], 1), by = indexAt(shift, i) % size;
    shifts[d] = (shifts[d] + by + size) % size;
  }
  return shifts;
}

void roll(OpContext &ctx) {
  auto shifts = TREADLE_OR_RETURN(ctx.check(readShifts(ctx.input(0), ctx.input(1), ctx.input(2))));
  Tensor now = ctx.takeInput(0);
  for (size_t d = 0; d < shifts.size(); ++d) {
    if (!shifts[d])
      continue;
    auto next = TREADLE_OR_RETURN(ctx.check(Tensor::make(now.dtype(), now.dims())));
    rollAlong(now, next, static_cast<int64_t>(d), shifts[d]);
    now = std::move(next);
  }
  ctx.setOutput(0, std::move(now));
}

const KernelEntry reverseTable[] = {
    {"Reverse", bindPlain<reverse>},
    {"ReverseSequence", bindReverseSequence},
    {"ReverseV2", bindPlain<reverseV2>},
    {"Roll", bindPlain<roll>},
};

} // namespace

std::span<const KernelEntry> reverseKernels() { return reverseTable; }

} // namespace treadle
