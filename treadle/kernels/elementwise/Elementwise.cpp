// The drivers of elementwise kernels: shapes, buffer forwarding, broadcasting and threads.
#include "treadle/kernels/elementwise/Elementwise.h"

#include <algorithm>
#include <atomic>

namespace treadle {
namespace {

// Work in ns below which threads don't pay off.
constexpr double smallWork = 30000;

bool sameDims(Dims a, Dims b) { return std::ranges::equal(a, b); }

const char *at(const void *data, int64_t index, size_t size) {
  return static_cast<const char *>(data) + index * static_cast<int64_t>(size);
}
char *at(void *data, int64_t index, size_t size) {
  return static_cast<char *>(data) + index * static_cast<int64_t>(size);
}

// Allocates an output of this shape, in the buffer of an input that can be overwritten if possible.
Tensor *makeResult(OpContext &ctx, DType dtype, Dims dims) {
  auto fits = [&](int i) { return ctx.canReuseInput(i) && sameDims(ctx.input(i).dims(), dims); };
  return ctx.reuseInputOrAllocate(!fits(0) && fits(1) ? 1 : 0, 0, dtype, dims);
}

// Computes one run of elements; each operand either steps or repeats.
bool runFlat(OpContext &ctx, const BinarySpec &spec, const void *a, bool aSteps, const void *b,
             bool bSteps, void *out, int64_t n) {
  if (n * spec.cost < smallWork)
    return spec.loop(a, aSteps, b, bSteps, out, n);
  std::atomic<bool> succeeded{true};
  ctx.parallelFor(n, spec.cost, [&](int64_t begin, int64_t end) {
    if (!spec.loop(at(a, aSteps ? begin : 0, spec.inSize), aSteps,
                   at(b, bSteps ? begin : 0, spec.inSize), bSteps, at(out, begin, spec.outSize),
                   end - begin))
      succeeded = false;
  });
  return succeeded;
}

bool runRows(OpContext &ctx, const BinarySpec &spec, const BroadcastPlan<2> &plan, const void *a,
             const void *b, void *out) {
  int inner = plan.loops - 1;
  bool aSteps = plan.stride[0][inner] != 0, bSteps = plan.stride[1][inner] != 0;
  int64_t n = plan.size[inner];
  auto run = [&](int64_t first, int64_t last) {
    bool succeeded = true;
    forEachRow<2>(plan, first, last, [&](const std::array<int64_t, 2> &offsets, int64_t begin) {
      succeeded &= spec.loop(at(a, offsets[0], spec.inSize), aSteps, at(b, offsets[1], spec.inSize),
                             bSteps, at(out, begin, spec.outSize), n);
    });
    return succeeded;
  };
  int64_t rows = plan.count / n;
  if (plan.count * spec.cost < smallWork)
    return run(0, rows);
  std::atomic<bool> succeeded{true};
  ctx.parallelFor(rows, spec.cost * static_cast<double>(n), [&](int64_t begin, int64_t end) {
    if (!run(begin, end))
      succeeded = false;
  });
  return succeeded;
}

void runSameShape(OpContext &ctx, const BinarySpec &spec, DType dtype) {
  const Tensor &a = ctx.input(0);
  const void *aData = a.raw(), *bData = ctx.input(1).raw();
  int64_t n = a.count();
  Tensor *out = makeResult(ctx, dtype, a.dims());
  if (out && !runFlat(ctx, spec, aData, true, bData, true, out->raw(), n))
    ctx.fail(invalidArgument(spec.failure));
}

// All other cases; a separate function because the plan needs a large stack frame.
[[gnu::noinline]] void runBroadcast(OpContext &ctx, const BinarySpec &spec, DType dtype) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  BroadcastPlan<2> plan;
  if (!planBroadcast<2>({a.dims(), b.dims()}, plan))
    return ctx.fail(incompatibleShapes(a.dims(), b.dims()));
  const void *aData = a.raw(), *bData = b.raw();
  Tensor *out = makeResult(ctx, dtype, plan.resultDims());
  if (!out || plan.count == 0)
    return;
  bool succeeded = plan.loops == 1 ? runFlat(ctx, spec, aData, plan.stride[0][0] != 0, bData,
                                             plan.stride[1][0] != 0, out->raw(), plan.count)
                                   : runRows(ctx, spec, plan, aData, bData, out->raw());
  if (!succeeded)
    ctx.fail(invalidArgument(spec.failure));
}

} // namespace

Error incompatibleShapes(Dims a, Dims b) {
  return invalidArgument("incompatible shapes: ", dimsText(a), " vs. ", dimsText(b),
                         "; dimensions must be equal or 1");
}

void runBinary(OpContext &ctx, const BinarySpec &spec, DType dtype) {
  if (sameDims(ctx.input(0).dims(), ctx.input(1).dims()))
    return runSameShape(ctx, spec, dtype);
  runBroadcast(ctx, spec, dtype);
}

void runPairwise(OpContext &ctx, const BinarySpec &spec, DType dtype) {
  Dims a = ctx.input(0).dims(), b = ctx.input(1).dims();
  if (!sameDims(a, b))
    return ctx.fail(invalidArgument("the inputs must have the same shape, but have ", dimsText(a),
                                    " and ", dimsText(b)));
  runSameShape(ctx, spec, dtype);
}

void runUnary(OpContext &ctx, const UnarySpec &spec, DType dtype) {
  const Tensor &in = ctx.input(0);
  const void *inData = in.raw();
  int64_t n = in.count();
  Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, dtype, in.dims()));
  void *outData = out->raw();
  if (n * spec.cost < smallWork)
    return spec.loop(inData, outData, n);
  ctx.parallelFor(n, spec.cost, [&](int64_t begin, int64_t end) {
    spec.loop(at(inData, begin, spec.inSize), at(outData, begin, spec.outSize), end - begin);
  });
}

} // namespace treadle
