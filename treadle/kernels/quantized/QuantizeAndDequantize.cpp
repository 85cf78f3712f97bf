// QuantizeAndDequantize: floats rounded to the values that integers can represent in a range around
// zero, and the gradient. Unlike in FakeQuant, the scale maps zero to 0 and the range isn't
// shifted.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <cmath>
#include <limits>

namespace treadle {
namespace {

struct RoundingState {
  bool isSigned, hasRange, isNarrow, halfUp;
  int64_t bits, axis;
  float min, max; // the range, if given by attributes
};

// The shape of the input as [outer, channels, inner].
struct Channels {
  int64_t outer = 1, channels = 1, inner = 1;

  template <typename Body> void forEach(int64_t channel, Body &&body) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        body((o * channels + channel) * inner + i);
  }
};

std::optional<Channels> readChannels(OpContext &ctx, const Tensor &in, int64_t axis) {
  if (axis < -1 || axis >= in.rank()) {
    ctx.fail(invalidArgument("axis is ", axis, ", but the input has rank ", in.rank()));
    return std::nullopt;
  }
  if (axis < 0)
    return Channels{1, 1, in.count()};
  auto d = static_cast<size_t>(axis);
  return Channels{countBetween(in.dims(), 0, d), in.dims()[d],
                  countBetween(in.dims(), d + 1, in.dims().size())};
}

bool checkLimit(OpContext &ctx, const Tensor &limit, const char *what, int64_t axis,
                int64_t channels) {
  if (axis < 0 ? limit.isScalar() : limit.rank() == 1 && limit.count() == channels)
    return true;
  ctx.fail(invalidArgument(what, " must be ", axis < 0 ? "a scalar" : "a vector of the channels",
                           ", but has shape ", dimsText(limit.dims())));
  return false;
}

// The scale from the range to the integers, with zero mapped to 0, and the adjusted range.
template <typename T> struct Scale {
  T min, max, scale, inverse;

  Scale(const RoundingState &s, int64_t bits, T low, T high) : min(low), max(high) {
    int64_t half = int64_t{1} << (bits - 1);
    auto least = static_cast<T>(s.isSigned ? (s.isNarrow ? 1 - half : -half) : 0);
    auto most = static_cast<T>(s.isSigned ? half - 1 : 2 * half - 1);
    constexpr T none = std::numeric_limits<T>::max();
    T below = least * min > 0 ? least / min : none, above = most * max > 0 ? most / max : none;
    if (below < above) {
      scale = below;
      inverse = min / least;
      max = most * inverse;
    } else {
      scale = above;
      inverse = max / most;
      min = least * inverse;
    }
  }
};

template <typename T>
void roundChannel(const RoundingState &s, int64_t bits, const Channels &channels, int64_t channel,
                  const T *in, T *out, T low, T high) {
  if (!s.hasRange) {
    low = std::numeric_limits<T>::infinity();
    high = -low;
    channels.forEach(channel, [&](int64_t i) {
      low = std::min(low, in[i]);
      high = std::max(high, in[i]);
    });
  }
  Scale<T> scale(s, bits, low, high);
  channels.forEach(channel, [&](int64_t i) {
    T x = s.hasRange ? std::max(std::min(in[i], scale.max), scale.min) : in[i];
    x *= scale.scale;
    out[i] = (s.halfUp ? std::floor(x + T(0.5)) : std::nearbyint(x)) * scale.inverse;
  });
}

bool checkBits(OpContext &ctx, int64_t bits, bool isSigned) {
  int64_t most = isSigned ? 61 : 62;
  if (bits >= 1 && bits <= most)
    return true;
  ctx.fail(invalidArgument("num_bits is ", bits, ", expected 1 to ", most));
  return false;
}

// Inputs: the numbers, their range and the number of bits, unless these are attributes.
template <typename T> struct RoundingKernel {
  static void run(OpContext &ctx) {
    const auto &s = ctx.state<RoundingState>();
    const Tensor in = ctx.input(0);
    auto channels = TREADLE_OR_RETURN(readChannels(ctx, in, s.axis));
    bool hasInputs = ctx.numInputs() > 2;
    int64_t bits = s.bits;
    if (ctx.numInputs() > 3) {
      if (ctx.input(3).count() != 1)
        return ctx.fail(invalidArgument("num_bits must be a scalar, but has shape ",
                                        dimsText(ctx.input(3).dims())));
      bits = indexAt(ctx.input(3), 0);
    }
    if (!checkBits(ctx, bits, s.isSigned) ||
        (hasInputs && s.hasRange && !checkRange(ctx, channels.channels)))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    for (int64_t c = 0; out && out->count() && c < channels.channels; ++c) {
      T low = hasInputs && s.hasRange ? ctx.input(1).data<T>()[c] : static_cast<T>(s.min);
      T high = hasInputs && s.hasRange ? ctx.input(2).data<T>()[c] : static_cast<T>(s.max);
      roundChannel<T>(s, bits, channels, c, in.data<T>(), out->data<T>(), low, high);
    }
  }

  static bool checkRange(OpContext &ctx, int64_t channels) {
    int64_t axis = ctx.state<RoundingState>().axis;
    if (!checkLimit(ctx, ctx.input(1), "input_min", axis, channels) ||
        !checkLimit(ctx, ctx.input(2), "input_max", axis, channels))
      return false;
    for (int64_t c = 0; c < channels; ++c)
      if (!(ctx.input(1).data<T>()[c] <= ctx.input(2).data<T>()[c])) {
        ctx.fail(invalidArgument("input_min is greater than input_max: ", ctx.input(1).data<T>()[c],
                                 " > ", ctx.input(2).data<T>()[c]));
        return false;
      }
    return true;
  }
};

// Inputs: the gradient, the numbers and their range. The gradient passes for numbers within the
// range; the range has no gradient.
template <typename T> struct RoundingGradKernel {
  static void run(OpContext &ctx) {
    int64_t axis = ctx.state<RoundingState>().axis;
    const Tensor gradient = ctx.input(0), in = ctx.input(1), min = ctx.input(2), max = ctx.input(3);
    if (!std::ranges::equal(gradient.dims(), in.dims()))
      return ctx.fail(invalidArgument("the gradient of an input of shape ", dimsText(in.dims()),
                                      " has shape ", dimsText(gradient.dims())));
    auto channels = readChannels(ctx, in, axis);
    if (!channels || !checkLimit(ctx, min, "input_min", axis, channels->channels) ||
        !checkLimit(ctx, max, "input_max", axis, channels->channels))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    for (int i : {1, 2})
      if (Tensor *none = ctx.allocateOutput(i, in.dtype(), min.dims()))
        zeroElements(in.dtype(), none->raw(), none->count());
    for (int64_t c = 0; out && c < channels->channels; ++c)
      channels->forEach(c, [&](int64_t i) {
        T x = in.data<T>()[i];
        bool isInside = x >= min.data<T>()[c] && x <= max.data<T>()[c];
        out->data<T>()[i] = gradient.data<T>()[i] * T(isInside ? 1 : 0);
      });
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindRounding(const BindContext &node) {
  RoundingState s;
  s.isSigned = node.attrs.getOr("signed_input", true);
  s.hasRange = node.attrs.getOr("range_given", false);
  s.isNarrow = node.attrs.getOr("narrow_range", false);
  s.halfUp = node.attrs.getOr("round_mode", std::string("HALF_TO_EVEN")) == "HALF_UP";
  s.bits = node.attrs.getOr<int64_t>("num_bits", 8);
  s.axis = node.attrs.getOr<int64_t>("axis", -1);
  s.min = node.attrs.getOr("input_min", 0.0f);
  s.max = node.attrs.getOr("input_max", 0.0f);
  return bindByType<Kernel, TypeList<float, double>>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, s); });
}

const KernelEntry quantizeAndDequantizeTable[] = {
    {"QuantizeAndDequantize", bindRounding<RoundingKernel>},
    {"QuantizeAndDequantizeV2", bindRounding<RoundingKernel>},
    {"QuantizeAndDequantizeV3", bindRounding<RoundingKernel>},
    {"QuantizeAndDequantizeV4", bindRounding<RoundingKernel>},
    {"QuantizeAndDequantizeV4Grad", bindRounding<RoundingGradKernel>},
};

} // namespace

std::span<const KernelEntry> quantizeAndDequantizeKernels() { return quantizeAndDequantizeTable; }

} // namespace treadle
