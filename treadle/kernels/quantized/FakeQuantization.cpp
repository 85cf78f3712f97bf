// Fake quantization: floats rounded to the values that an integer of a few bits can represent in a
// range, and the gradients. The range is given by attributes, by inputs, or by inputs per channel.

#include <cmath>
#include <vector>

namespace treadle {
namespace {

struct FakeQuantState {
  float low = 0, high = 0; // the range, if given by attributes
  float steps[2];          // the lowest and the highest integer
};

// A range shifted so that zero is one of its steps.
struct NudgedRange {
  float low, high, step;
  float zeroStep; // steps from `low` to zero

  NudgedRange(float min, float max, const float (&steps)[2]) {
    step = (max - min) / (steps[1] - steps[0]);
    float zero = steps[0] - min / step;
    if (zero < steps[0])
      zero = steps[0];
    else if (zero > steps[1])
      zero = steps[1];
    else
      zero = std::round(zero);
    low = (steps[0] - zero) * step;
    high = (steps[1] - zero) * step;
    zeroStep = std::floor(-low * (1.0f / step) + 0.5f);
  }

  float clamped(float x) const { return x < low ? low : x > high ? high : x; }
  /// The rounding for a single range of inputs. For ranges per channel and of attributes,
  /// TensorFlow rounds differently halfway between two steps.
  float quantized(float x) const {
    return std::floor((clamped(x) - low) / step + 0.5f) * step + low;
  }
  float quantizedByReciprocal(float x) const {
    return std::floor((clamped(x) - low) * (1.0f / step) - zeroStep + 0.5f) * step;
  }
  bool contains(float x) const { return x >= low && x <= high; }
};

bool checkShape(OpContext &ctx, const Tensor &t, const char *what, bool isChannels,
                int64_t channels) {
  if (isChannels ? t.rank() == 1 && t.count() == channels : t.isScalar())
    return true;
  ctx.fail(invalidArgument(what, " must be ", isChannels ? "a vector of the channels" : "a scalar",
                           ", but has shape ", dimsText(t.dims())));
  return false;
}

bool checkSame(OpContext &ctx, const Tensor &gradient, const Tensor &in) {
  if (std::ranges::equal(gradient.dims(), in.dims()))
    return true;
  ctx.fail(invalidArgument("the gradient of inputs of shape ", dimsText(in.dims()), " has shape ",
                           dimsText(gradient.dims())));
  return false;
}

// --- by attributes -------------------------------------------------------------------------------

void runArgs(OpContext &ctx) {
  const auto &s = ctx.state<FakeQuantState>();
  const Tensor in = ctx.input(0);
  Tensor *out = TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, in.dtype(), in.dims()));
  NudgedRange range(s.low, s.high, s.steps);
  for (int64_t i = 0; i < in.count(); ++i)
    out->data<float>()[i] = range.quantizedByReciprocal(in.data<float>()[i]);
}

// Inputs: the gradient and the inputs.
void runArgsGrad(OpContext &ctx) {
  const auto &s = ctx.state<FakeQuantState>();
  const Tensor gradient = ctx.input(0), in = ctx.input(1);
  if (!checkSame(ctx, gradient, in))
    return;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
  NudgedRange range(s.low, s.high, s.steps);
  for (int64_t i = 0; i < in.count(); ++i)
    out->data<float>()[i] = range.contains(in.data<float>()[i]) ? gradient.data<float>()[i] : 0.0f;
}

// --- by inputs -----------------------------------------------------------------------------------

// Sets the number of ranges: one for all, or one per channel. Returns false, with ctx failed, if
// the ranges have other shapes.
template <bool byChannel>
bool readChannels(OpContext &ctx, const Tensor &in, int first, int64_t &channels) {
  channels = 1;
  if (byChannel && in.rank() < 1) {
    ctx.fail(invalidArgument("inputs must have a dimension of channels, but are a scalar"));
    return false;
  }
  if (byChannel)
    channels = in.dim(in.rank() - 1);
  return checkShape(ctx, ctx.input(first), "min", byChannel, channels) &&
         checkShape(ctx, ctx.input(first + 1), "max", byChannel, channels);
}

std::vector<NudgedRange> rangesOf(const FakeQuantState &s, const Tensor &min, const Tensor &max) {
  std::vector<NudgedRange> ranges;
  for (int64_t c = 0; c < min.count(); ++c)
    ranges.emplace_back(min.data<float>()[c], max.data<float>()[c], s.steps);
  return ranges;
}

// Whether the range is [0, 0]: everything becomes zero, and the gradient passes.
bool isZeroRange(const Tensor &min, const Tensor &max, int64_t c) {
  return min.data<float>()[c] == 0 && max.data<float>()[c] == 0;
}

// Inputs: the inputs, min and max.
template <bool byChannel> void runVars(OpContext &ctx) {
  const Tensor in = ctx.input(0), min = ctx.input(1), max = ctx.input(2);
  int64_t channels;
  if (!readChannels<byChannel>(ctx, in, 1, channels))
    return;
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
  std::vector<NudgedRange> ranges = rangesOf(ctx.state<FakeQuantState>(), min, max);
  for (int64_t i = 0; i < in.count(); ++i) {
    int64_t c = i % channels;
    const NudgedRange &range = ranges[static_cast<size_t>(c)];
    float x = in.data<float>()[i];
    out->data<float>()[i] = isZeroRange(min, max, c) ? 0
                            : byChannel              ? range.quantizedByReciprocal(x)
                                                     : range.quantized(x);
  }
}

// Inputs: the gradient, the inputs, min and max. Outputs: the gradients of these three.
template <bool byChannel> void runVarsGrad(OpContext &ctx) {
  const Tensor gradient = ctx.input(0), in = ctx.input(1), min = ctx.input(2), max = ctx.input(3);
  int64_t channels;
  if (!checkSame(ctx, gradient, in) || !readChannels<byChannel>(ctx, in, 2, channels))
    return;
  Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
  Tensor *low = ctx.allocateOutput(1, in.dtype(), min.dims());
  Tensor *high = ctx.allocateOutput(2, in.dtype(), max.dims());
  if (!out || !low || !high)
    return;
  std::vector<NudgedRange> ranges = rangesOf(ctx.state<FakeQuantState>(), min, max);
  std::vector<double> below(static_cast<size_t>(channels)), above(below);
  for (int64_t i = 0; i < in.count(); ++i) {
    auto c = static_cast<size_t>(i % channels);
    float x = in.data<float>()[i], g = gradient.data<float>()[i];
    bool isInside = isZeroRange(min, max, i % channels) || ranges[c].contains(x);
    out->data<float>()[i] = isInside ? g : 0.0f;
    if (!isInside)
      (x < ranges[c].low    ? below
       : x > ranges[c].high ? above
                            : below)[c] += std::isnan(x) ? 0 : static_cast<double>(g);
  }
  std::ranges::transform(below, low->data<float>(), [](double v) { return float(v); });
  std::ranges::transform(above, high->data<float>(), [](double v) { return float(v); });
}

// --- table ---------------------------------------------------------------------------------------

template <KernelFn fn, bool hasRange> Expected<BoundKernel> bindFake(const BindContext &node) {
  int64_t bits = node.attrs.getOr<int64_t>("num_bits", 8);
  if (bits < 2 || bits > 16)
    return Unexpected(invalidArgument("num_bits must be between 2 and 16, but is ", bits));
  FakeQuantState s{.steps = {node.attrs.getOr("narrow_range", false) ? 1.0f : 0.0f,
                             static_cast<float>((1 << bits) - 1)}};
  if (hasRange) {
    s.low = node.attrs.getOr("min", -6.0f);
    s.high = node.attrs.getOr("max", 6.0f);
    if (!(s.low < s.high))
      return Unexpected(
          invalidArgument("min must be less than max, but they are ", s.low, " and ", s.high));
  }
  return boundWith(fn, s);
}

const KernelEntry fakeQuantizationTable[] = {
    {"FakeQuantWithMinMaxArgs", bindFake<runArgs, true>},
    {"FakeQuantWithMinMaxArgsGradient", bindFake<runArgsGrad, true>},
    {"FakeQuantWithMinMaxVars", bindFake<runVars<false>, false>},
    {"FakeQuantWithMinMaxVarsGradient", bindFake<runVarsGrad<false>, false>},
    {"FakeQuantWithMinMaxVarsPerChannel", bindFake<runVars<true>, false>},
    {"FakeQuantWithMinMaxVarsPerChannelGradient", bindFake<runVarsGrad<true>, false>},
};

} // namespace

std::span<const KernelEntry> fakeQuantizationKernels() { return fakeQuantizationTable; }

} // namespace treadle
