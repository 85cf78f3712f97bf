// Layer normalization over the last dimension; _LayerNorm over any axis, like the ops that it
// replaces.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/Widened.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/reductions/Families.h"
#include "treadle/runtime/RunOp.h"

#include <cmath>

namespace treadle {
namespace {

// --- rows ----------------------------------------------------------------------------------------

/// Sums fn(i) in lanes, so that the loop is vectorized and the rounding error stays small.
template <typename Fn> [[gnu::always_inline]] inline float sumOf(int64_t n, Fn fn) {
  constexpr int64_t lanes = 32;
  float sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (int64_t l = 0; l < lanes; ++l)
      sums[l] += fn(i + l);
  for (; i < n; ++i)
    sums[i % lanes] += fn(i);
  for (int64_t width = lanes / 2; width > 0; width /= 2)
    for (int64_t l = 0; l < width; ++l)
      sums[l] += sums[l + width];
  return sums[0];
}

/// One number per column, one for all columns, or none.
struct Columns {
  const float *data = nullptr;
  int64_t step = 0;
};

// y = (x - mean) / sqrt(variance + epsilon) * scale + offset.
void normalise(const float *x, Columns scale, Columns offset, float epsilon, int64_t n, float *y) {
  float mean = sumOf(n, [&](int64_t i) { return x[i]; }) / static_cast<float>(n);
  float variance =
      sumOf(n, [&](int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / static_cast<float>(n);
  float factor = 1 / std::sqrt(variance + epsilon);
  auto each = [&](auto scaleOf, auto offsetOf) {
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      y[i] = (x[i] - mean) * (factor * scaleOf(i)) + offsetOf(i);
  };
  if (scale.step && offset.step)
    return each([&](int64_t i) { return scale.data[i]; },
                [&](int64_t i) { return offset.data[i]; });
  auto at = [](Columns c, float otherwise) {
    return [c, otherwise](int64_t i) { return c.data ? c.data[i * c.step] : otherwise; };
  };
  each(at(scale, 1), at(offset, 0));
}

void normaliseRows(OpContext &ctx, int64_t n, Columns scale, Columns offset, float epsilon) {
  const Tensor &in = ctx.input(0);
  const float *x = in.data<float>();
  int64_t rows = n ? in.count() / n : 0;
  Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, DType::Float32, in.dims()));
  float *y = out->data<float>();
  constexpr double nsPerElement = 0.3;
  ctx.parallelFor(rows, nsPerElement * static_cast<double>(n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      normalise(x + i * n, scale, offset, epsilon, n, y + i * n);
  });
}

// --- _MklLayerNorm -------------------------------------------------------------------------------

void runLayerNorm(OpContext &ctx) {
  const Tensor &in = ctx.input(0), &scale = ctx.input(1), &offset = ctx.input(2);
  if (in.rank() == 0)
    return ctx.fail(invalidArgument("the input must have rank 1 or more, but is a scalar"));
  int64_t n = in.dim(in.rank() - 1);
  for (int i = 1; i < 3; ++i)
    if (ctx.input(i).rank() != 1 || ctx.input(i).dim(0) != n)
      return ctx.fail(invalidArgument("input ", i, " must be a vector of ", n,
                                      " elements, one per column of ", dimsText(in.dims()),
                                      ", but has shape ", dimsText(ctx.input(i).dims())));
  normaliseRows(ctx, n, {scale.data<float>(), 1}, {offset.data<float>(), 1}, ctx.state<float>());
}

Expected<BoundKernel> bindLayerNorm(const BindContext &node) {
  if (node.inputTypes[0] != DType::Float32)
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(runLayerNorm, node.attrs.getOr("epsilon", 0.001f));
}

// --- _LayerNorm ----------------------------------------------------------------------------------

struct NormState {
  float epsilon;
  int32_t axis;
  bool hasScale, hasOffset;
};

/// Returns nullopt unless `t` has one number per column or one for all.
std::optional<Columns> columnsOf(const Tensor &t, const Tensor &in) {
  int64_t n = in.dim(in.rank() - 1);
  if (t.rank() > in.rank() || (t.count() != 1 && (t.count() != n || t.dim(t.rank() - 1) != n)))
    return std::nullopt;
  return Columns{t.data<float>(), t.count() == 1 ? 0 : 1};
}

/// Runs the ops that this op replaces, one by one: they broadcast, and report the errors.
void runUnfused(OpContext &ctx, const NormState &s) {
  auto run = [&](std::string_view op, std::vector<Tensor> inputs) -> Tensor {
    if (ctx.hasFailed())
      return {};
    AttrMap attrs;
    attrs.set("T", TypeAttr{DType::Float32});
    attrs.set("keep_dims", true);
    auto out =
        ctx.check(runOp({elementwiseArithmeticKernels, elementwiseUnaryKernels, reductionKernels},
                        op, attrs, std::move(inputs), {DType::Float32}));
    return out ? out->front() : Tensor();
  };
  const Tensor x = ctx.input(0), axis = Tensor::scalar(DType::Int32, s.axis);
  Tensor mean = run("Mean", {x, axis});
  Tensor variance = run("Mean", {run("SquaredDifference", {x, mean}), axis});
  Tensor factor =
      run("Rsqrt", {run("AddV2", {variance, Tensor::scalar(DType::Float32, s.epsilon)})});
  if (s.hasScale)
    factor = run("Mul", {factor, ctx.input(1)});
  Tensor result = run("Mul", {run("Sub", {x, mean}), factor});
  if (s.hasOffset)
    result = run("AddV2", {result, ctx.input(s.hasScale ? 2 : 1)});
  if (!ctx.hasFailed())
    ctx.setOutput(0, std::move(result));
}

void runNorm(OpContext &ctx) {
  const NormState &s = ctx.state<NormState>();
  const Tensor &in = ctx.input(0);
  if (in.rank() == 0 || (s.axis != -1 && s.axis != in.rank() - 1))
    return runUnfused(ctx, s);
  Columns scale, offset;
  int input = 1;
  for (auto [isThere, columns] : {std::pair{s.hasScale, &scale}, {s.hasOffset, &offset}}) {
    if (!isThere)
      continue;
    auto found = columnsOf(ctx.input(input++), in);
    if (!found)
      return runUnfused(ctx, s);
    *columns = *found;
  }
  normaliseRows(ctx, in.dim(in.rank() - 1), scale, offset, s.epsilon);
}

Expected<BoundKernel> bindNorm(const BindContext &node) {
  NormState state = {node.attrs.getOr("epsilon", 0.001f),
                     static_cast<int32_t>(node.attrs.getOr<int64_t>("axis", -1)),
                     node.attrs.getOr<int64_t>("num_scales", 0) > 0,
                     node.attrs.getOr<int64_t>("num_offsets", 0) > 0};
  size_t wanted = 1 + static_cast<size_t>(state.hasScale) + static_cast<size_t>(state.hasOffset);
  if (node.inputTypes.size() != wanted)
    return Unexpected(invalidArgument("op '", node.op, "' takes at most one scale and one offset"));
  return boundWith(runNorm, state);
}

const KernelEntry layerNormTable[] = {{"_MklLayerNorm", bindWithHalfFloats<bindLayerNorm>},
                                      {"_LayerNorm", bindNorm}};

} // namespace

std::span<const KernelEntry> layerNormKernels() { return layerNormTable; }

} // namespace treadle
