// Tiles, broadcasts and pads.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/arrays/Pad.h"
#include "treadle/kernels/elementwise/Wrapping.h"

#include <algorithm>

namespace treadle {
namespace {

// --- tile and broadcast ------------------------------------------------------------------------

void tile(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &multiples = ctx.input(1);
  if (multiples.rank() != 1 || multiples.count() != in.rank())
    return ctx.fail(invalidArgument("multiples is ", tensorTypeText(multiples),
                                    ", expected a vector of ", in.rank(), ", the input's rank"));
  // Each dimension n repeated m times becomes two, m and n, of which the first has stride 0.
  DimVector dims, split, steps, strides = rowMajorStrides(in.dims());
  for (int d = 0; d < in.rank(); ++d) {
    int64_t times = indexAt(multiples, d), n = in.dim(d), product;
    if (times < 0)
      return ctx.fail(invalidArgument("multiples[", d, "] is ", times, ", expected 0 or more"));
    if (__builtin_mul_overflow(times, n, &product))
      return ctx.fail(invalidArgument("dimension ", d, " of ", n, " repeated ", times,
                                      " times overflows 64 bits"));
    dims.push(product);
    split.push(times);
    split.push(n);
    steps.push(0);
    steps.push(strides[d]);
  }
  if (std::ranges::equal(dims, in.dims()))
    return ctx.setOutput(0, ctx.takeInput(0));
  Tensor *out = ctx.allocateOutput(0, in.dtype(), dims);
  if (out && out->count())
    copyStrided(in.dtype(), split, out->raw(), rowMajorStrides(split), in.raw(), steps);
}

void broadcastTo(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &shape = ctx.input(1);
  if (shape.rank() > 1)
    return ctx.fail(invalidArgument("shape must be a vector, but it is ", tensorTypeText(shape)));
  DimVector dims = readIndices(shape);
  int64_t rank = static_cast<int64_t>(dims.size()), pad = rank - in.rank();
  DimVector steps(dims.size()), strides = rowMajorStrides(in.dims());
  bool fits = pad >= 0;
  for (int64_t d = std::max<int64_t>(pad, 0); fits && d < rank; ++d) {
    int64_t n = in.dims()[d - pad];
    fits = n == dims[d] || n == 1;
    steps[d] = n == 1 ? 0 : strides[d - pad];
  }
  if (!fits)
    return ctx.fail(invalidArgument("input of shape ", dimsText(in.dims()),
                                    " cannot be broadcast to ", dimsText(dims)));
  if (std::ranges::equal(dims, in.dims()))
    return ctx.setOutput(0, ctx.takeInput(0));
  Tensor *out = ctx.allocateOutput(0, in.dtype(), dims);
  if (out && out->count())
    copyStrided(in.dtype(), dims, out->raw(), rowMajorStrides(dims), in.raw(), steps);
}

// --- pads --------------------------------------------------------------------------------------

struct Paddings {
  DimVector before, after;
};

Expected<Paddings> readPaddings(const Tensor &paddings, int rank) {
  if (paddings.rank() != 2 || paddings.dim(0) != rank || paddings.dim(1) != 2)
    return Unexpected(invalidArgument("paddings is ", tensorTypeText(paddings), ", expected [",
                                      rank, ",2] for an input of rank ", rank));
  Paddings out;
  for (int d = 0; d < rank; ++d) {
    int64_t before = indexAt(paddings, 2 * d), after = indexAt(paddings, 2 * d + 1);
    if (before < 0 || after < 0)
      return Unexpected(invalidArgument("paddings of dimension ", d, " are ", before, " and ",
                                        after, ", expected 0 or more"));
    out.before.push(before);
    out.after.push(after);
  }
  return out;
}

// Returns the padded dimensions; nullopt, with ctx failed, if one overflows.
std::optional<DimVector> paddedDims(OpContext &ctx, Dims dims, const Paddings &paddings) {
  DimVector out;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t sum;
    if (__builtin_add_overflow(dims[d], paddings.before[d], &sum) ||
        __builtin_add_overflow(sum, paddings.after[d], &sum)) {
      ctx.fail(invalidArgument("padded dimension ", d, " overflows 64 bits"));
      return std::nullopt;
    }
    out.push(sum);
  }
  return out;
}

void padWith(OpContext &ctx, const void *value) {
  const Tensor &in = ctx.input(0);
  auto paddings = TREADLE_OR_RETURN(ctx.check(readPaddings(ctx.input(1), in.rank())));
  auto dims = TREADLE_OR_RETURN(paddedDims(ctx, in.dims(), paddings));
  if (std::ranges::equal(dims, in.dims()))
    return ctx.setOutput(0, ctx.takeInput(0));
  Tensor *out = ctx.allocateOutput(0, in.dtype(), dims);
  if (!out || !out->count())
    return;
  std::vector<PadRange> ranges;
  for (int d = 0; d < in.rank(); ++d)
    ranges.push_back({paddings.before[static_cast<size_t>(d)], in.dim(d), 0});
  copyPadded(&ctx, in, ranges, value, *out);
}

void pad(OpContext &ctx) { padWith(ctx, nullptr); }

void padV2(OpContext &ctx) {
  const Tensor &value = ctx.input(2);
  if (value.rank() != 0)
    return ctx.fail(
        invalidArgument("constant_values must be a scalar, but it is ", tensorTypeText(value)));
  padWith(ctx, value.raw());
}

// --- mirrored pads -----------------------------------------------------------------------------

// 1 if the border itself isn't repeated (REFLECT), 0 if it is (SYMMETRIC).
using MirrorOffset = int64_t;

// Returns the source of the padded index `i` in a dimension of size n.
int64_t mirrored(int64_t i, int64_t before, int64_t n, MirrorOffset offset) {
  i -= before;
  if (i < 0)
    return -i - 1 + offset;
  return i < n ? i : 2 * n - 1 - i - offset;
}

bool checkMirror(OpContext &ctx, Dims dims, const Paddings &paddings) {
  auto offset = ctx.state<MirrorOffset>();
  for (size_t d = 0; d < dims.size(); ++d)
    if (int64_t largest = std::max(paddings.before[d], paddings.after[d]);
        largest > dims[d] - offset) {
      ctx.fail(invalidArgument("paddings of dimension ", d, " are ", paddings.before[d], " and ",
                               paddings.after[d], ", expected at most ", dims[d] - offset));
      return false;
    }
  return true;
}

// Calls body(padded, plain) with the offset of each padded element and of the element it mirrors.
template <typename Body>
void forEachMirrored(Dims padded, Dims plain, Dims before, MirrorOffset offset, Body body) {
  DimVector index(padded.size()), strides = rowMajorStrides(plain);
  int64_t total = countBetween(padded, 0, padded.size());
  for (int64_t i = 0; i < total; ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < padded.size(); ++d)
      at += mirrored(index[d], before[d], plain[d], offset) * strides[d];
    body(i, at);
    for (size_t d = padded.size(); d-- > 0;) {
      if (++index[d] < padded[d])
        break;
      index[d] = 0;
    }
  }
}

void mirrorPad(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto paddings = ctx.check(readPaddings(ctx.input(1), in.rank()));
  if (!paddings || !checkMirror(ctx, in.dims(), *paddings))
    return;
  auto dims = TREADLE_OR_RETURN(paddedDims(ctx, in.dims(), *paddings));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), dims));
  visitMoved(in.dtype(), [&]<typename T>() {
    T *to = out->data<T>();
    const T *from = in.data<T>();
    forEachMirrored(dims, in.dims(), paddings->before, ctx.state<MirrorOffset>(),
                    [&](int64_t padded, int64_t plain) { to[padded] = from[plain]; });
  });
}

template <typename T> struct MirrorPadGrad {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    auto paddings = TREADLE_OR_RETURN(ctx.check(readPaddings(ctx.input(1), in.rank())));
    DimVector dims;
    for (int d = 0; d < in.rank(); ++d) {
      int64_t before = paddings.before[d], after = paddings.after[d];
      if (before > in.dim(d) || after > in.dim(d) - before)
        return ctx.fail(invalidArgument("input of shape ", dimsText(in.dims()),
                                        " is smaller than its paddings"));
      dims.push(in.dim(d) - before - after);
    }
    if (!checkMirror(ctx, dims, paddings))
      return;
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), dims));
    T *to = out->data<T>();
    const T *from = in.data<T>();
    std::fill_n(to, out->count(), T());
    forEachMirrored(
        in.dims(), dims, paddings.before, ctx.state<MirrorOffset>(),
        [&](int64_t padded, int64_t plain) { to[plain] = wrappingSum(to[plain], from[padded]); });
  }
};

Expected<MirrorOffset> mirrorOffset(const BindContext &node) {
  auto mode = TREADLE_TRY(node.attrs.get<std::string>("mode"));
  if (mode != "REFLECT" && mode != "SYMMETRIC")
    return Unexpected(invalidArgument("mode is '", mode, "', expected 'REFLECT' or 'SYMMETRIC'"));
  return mode == "REFLECT" ? 1 : 0;
}

Expected<BoundKernel> bindMirrorPad(const BindContext &node) {
  return mirrorOffset(node).map([](MirrorOffset o) { return boundWith(mirrorPad, o); });
}

Expected<BoundKernel> bindMirrorPadGrad(const BindContext &node) {
  MirrorOffset offset = TREADLE_TRY(mirrorOffset(node));
  return withState(bindByType<MirrorPadGrad, NumericTypes>(node), offset);
}

const KernelEntry tileTable[] = {
    {"BroadcastTo", bindPlain<broadcastTo>},
    {"MirrorPad", bindMirrorPad},
    {"MirrorPadGrad", bindMirrorPadGrad},
    {"Pad", bindPlain<pad>},
    {"PadV2", bindPlain<padV2>},
    {"Tile", bindPlain<tile>},
};

} // namespace

std::span<const KernelEntry> tileKernels() { return tileTable; }

} // namespace treadle
