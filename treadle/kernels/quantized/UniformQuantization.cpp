// Elementwise Uniform ops of TensorFlow: quantization, dequantization, requantization, addition,
// and clipping.
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/elementwise/Quantized.h"
#include "treadle/kernels/quantized/UniformParameters.h"

#include <vector>

namespace treadle {
namespace {

using namespace uniform;

// --- quantization and dequantization -----------------------------------------------------------

struct QuantizeState {
  QuantizedRange range;
  DType out;
};

void runQuantize(OpContext &ctx) {
  const auto &s = ctx.state<QuantizeState>();
  const Tensor in = ctx.input(0);
  auto p = QuantizationParameters::read(ctx, 1, s.range.axis, in.dims(), /*mustBePositive=*/false);
  Tensor *out = TREADLE_OR_RETURN(p ? ctx.allocateOutput(0, s.out, in.dims()) : nullptr);
  visitQuantized(s.out, [&]<typename T>() {
    for (int64_t i = 0; i < in.count(); ++i) {
      int64_t slice = p->slice(i);
      out->data<T>()[i] = static_cast<T>(
          uniform::quantized(in.data<float>()[i], 1.0f / p->scale(slice), p->zero(slice), s.range));
    }
  });
}

void runDequantize(OpContext &ctx) {
  const auto &s = ctx.state<QuantizeState>();
  const Tensor in = ctx.input(0);
  auto p = QuantizationParameters::read(ctx, 1, s.range.axis, in.dims());
  Tensor *out = TREADLE_OR_RETURN(p ? ctx.allocateOutput(0, DType::Float32, in.dims()) : nullptr);
  visitQuantized(in.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < in.count(); ++i) {
      int64_t slice = p->slice(i);
      out->data<float>()[i] =
          static_cast<float>(wrappingDifference(in.data<T>()[i], p->zero(slice))) * p->scale(slice);
    }
  });
}

template <KernelFn fn> Expected<BoundKernel> bindQuantize(const BindContext &node) {
  QuantizedRange range = TREADLE_TRY(QuantizedRange::of(node, ""));
  DType integers = node.inputTypes[0] == DType::Float32 ? node.outputTypes[0] : node.inputTypes[0];
  if (integers != DType::QInt8 && integers != DType::QUInt8 && integers != DType::QInt32)
    return unsupportedDType(node, integers);
  return boundWith(fn, QuantizeState{range, node.outputTypes[0]});
}

// --- requantization ----------------------------------------------------------------------------

struct RequantizeState {
  QuantizedRange in, out;
  DType dtype;
};

/// Returns the factors from slices of one tensor to those of another. Either may have a single
/// slice.
Expected<std::vector<FixedPointMultiplier>> multipliers(const QuantizationParameters &from,
                                                        const QuantizationParameters &to) {
  std::vector<FixedPointMultiplier> list;
  for (int64_t i = 0; i < std::max(from.slices(), to.slices()); ++i)
    list.push_back(TREADLE_TRY(
        FixedPointMultiplier::of(static_cast<double>(from.scale(from.slices() == 1 ? 0 : i)) /
                                 to.scale(to.slices() == 1 ? 0 : i))));
  return list;
}

bool shareAxis(OpContext &ctx, const QuantizedRange &a, const QuantizedRange &b) {
  if (a.axis == -1 || b.axis == -1 || a.axis == b.axis)
    return true;
  ctx.fail(
      invalidArgument("two tensors are quantized along different axes, ", a.axis, " and ", b.axis));
  return false;
}

void runRequantize(OpContext &ctx) {
  const auto &s = ctx.state<RequantizeState>();
  const Tensor in = ctx.input(0);
  auto from = QuantizationParameters::read(ctx, 1, s.in.axis, in.dims());
  auto to = from ? QuantizationParameters::read(ctx, 3, s.out.axis, in.dims()) : std::nullopt;
  if (!to || !shareAxis(ctx, s.in, s.out))
    return;
  auto factors = ctx.check(multipliers(*from, *to));
  Tensor *out = TREADLE_OR_RETURN(factors ? ctx.allocateOutput(0, s.dtype, in.dims()) : nullptr);
  auto convert = [&]<typename From, typename To>() {
    for (int64_t i = 0; i < in.count(); ++i) {
      int64_t a = from->slice(i), b = to->slice(i);
      int32_t x = wrappingDifference(in.data<From>()[i], from->zero(a));
      x = (*factors)[static_cast<size_t>(std::max(a, b))](x);
      out->data<To>()[i] = static_cast<To>(s.out.clamped(wrappingSum(x, to->zero(b))));
    }
  };
  visitQuantized(in.dtype(), [&]<typename From>() {
    visitQuantized(s.dtype, [&]<typename To>() { convert.template operator()<From, To>(); });
  });
}

Expected<BoundKernel> bindRequantize(const BindContext &node) {
  for (DType dtype : {node.inputTypes[0], node.outputTypes[0]})
    if (dtype != DType::QInt8 && dtype != DType::QInt32)
      return unsupportedDType(node, dtype);
  QuantizedRange in = TREADLE_TRY(QuantizedRange::of(node, "input_"));
  return boundWith(
      runRequantize,
      RequantizeState{in, TREADLE_TRY(QuantizedRange::of(node, "output_")), node.outputTypes[0]});
}

// --- addition and clipping ---------------------------------------------------------------------

struct AddState {
  QuantizedRange lhs, rhs, out;
};

/// TensorFlow converts between qint32 and int32 through float; 2^31 wraps around.
int32_t throughFloat(int32_t x) {
  return static_cast<int32_t>(static_cast<int64_t>(static_cast<float>(x)));
}

/// Returns an operand in the scale of the result, without the zero point.
std::optional<Tensor> rescaled(OpContext &ctx, int operand, const QuantizedRange &range,
                               const QuantizationParameters &to) {
  const Tensor in = ctx.input(operand);
  auto from = QuantizationParameters::read(ctx, 2 + 2 * operand, range.axis, in.dims());
  auto out = from ? ctx.check(Tensor::make(DType::Int32, in.dims())) : std::nullopt;
  if (!out)
    return out;
  if (to.slices() != 1 && to.slices() != from->slices()) {
    ctx.fail(unimplemented("the sum is quantized along an axis, but its operands are not"));
    return std::nullopt;
  }
  auto factors = ctx.check(multipliers(*from, to));
  if (!factors)
    return std::nullopt;
  for (int64_t i = 0; i < in.count(); ++i) {
    int64_t slice = from->slice(i);
    int32_t x = wrappingDifference(throughFloat(in.data<int32_t>()[i]), from->zero(slice));
    out->data<int32_t>()[i] = throughFloat((*factors)[static_cast<size_t>(slice)](x));
  }
  return out;
}

void runAdd(OpContext &ctx) {
  const auto &s = ctx.state<AddState>();
  BroadcastPlan<2> plan;
  if (!planBroadcast<2>({ctx.input(0).dims(), ctx.input(1).dims()}, plan))
    return ctx.fail(invalidArgument("shapes ", dimsText(ctx.input(0).dims()), " and ",
                                    dimsText(ctx.input(1).dims()), " do not broadcast"));
  auto to = QuantizationParameters::read(ctx, 6, s.out.axis, plan.resultDims());
  auto lhs = to ? rescaled(ctx, 0, s.lhs, *to) : std::nullopt;
  auto rhs = lhs ? rescaled(ctx, 1, s.rhs, *to) : std::nullopt;
  Tensor *out =
      TREADLE_OR_RETURN(rhs ? ctx.allocateOutput(0, DType::QInt32, plan.resultDims()) : nullptr);
  int64_t steps[2] = {plan.stride[0][plan.loops - 1], plan.stride[1][plan.loops - 1]};
  forEachRow<2>(plan, [&](const std::array<int64_t, 2> &offsets, int64_t begin) {
    for (int64_t i = 0; i < plan.size[plan.loops - 1]; ++i) {
      int32_t sum = wrappingSum(lhs->data<int32_t>()[offsets[0] + i * steps[0]],
                                rhs->data<int32_t>()[offsets[1] + i * steps[1]]);
      int32_t zero = to->zero(to->slice(begin + i));
      out->data<int32_t>()[begin + i] = s.out.clamped(wrappingSum(sum, zero));
    }
  });
}

Expected<BoundKernel> bindAdd(const BindContext &node) {
  if (node.inputTypes[0] != DType::QInt32)
    return unsupportedDType(node, node.inputTypes[0]);
  QuantizedRange lhs = TREADLE_TRY(QuantizedRange::of(node, "lhs_")),
                 rhs = TREADLE_TRY(QuantizedRange::of(node, "rhs_"));
  return boundWith(runAdd, AddState{lhs, rhs, TREADLE_TRY(QuantizedRange::of(node, "output_"))});
}

// Inputs: the operand, the lowest and the highest integer of each slice, scales and zero points.
void runClip(OpContext &ctx) {
  const auto &range = ctx.state<QuantizedRange>();
  const Tensor in = ctx.input(0), least = ctx.input(1), most = ctx.input(2);
  auto p = TREADLE_OR_RETURN(
      QuantizationParameters::read(ctx, 3, range.axis, in.dims(), /*mustBePositive=*/false));
  if (least.count() != p.slices() || most.count() != p.slices())
    return ctx.fail(invalidArgument("min and max are ", tensorTypeText(least), " and ",
                                    tensorTypeText(most), ", expected ", p.slices(), " elements"));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::QInt32, in.dims()));
  for (int64_t i = 0; i < in.count(); ++i) {
    int64_t slice = p.slice(i);
    out->data<int32_t>()[i] = std::min(
        std::max(in.data<int32_t>()[i], least.data<int32_t>()[slice]), most.data<int32_t>()[slice]);
  }
}

Expected<BoundKernel> bindClip(const BindContext &node) {
  if (node.inputTypes[0] != DType::QInt32)
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(runClip, TREADLE_TRY(QuantizedRange::of(node, "")));
}

const KernelEntry uniformQuantizationTable[] = {
    {"UniformDequantize", bindQuantize<runDequantize>},
    {"UniformQuantize", bindQuantize<runQuantize>},
    {"UniformQuantizedAdd", bindAdd},
    {"UniformQuantizedClipByValue", bindClip},
    {"UniformRequantize", bindRequantize},
};

} // namespace

std::span<const KernelEntry> uniformQuantizationKernels() { return uniformQuantizationTable; }

} // namespace treadle
