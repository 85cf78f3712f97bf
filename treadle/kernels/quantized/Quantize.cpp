// Quantization to quantized dtypes and dequantization, with one range for all or one per slice.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Conversion.h"
#include "treadle/kernels/elementwise/Quantized.h"

#include <cfloat>

namespace treadle {
namespace {

enum class Mode { MinCombined, MinFirst, Scaled };

struct QuantizeState {
  Mode mode;
  bool halfToEven, isNarrow;
  int64_t axis;
  float minRange;
  DType dtype;
};

Expected<QuantizeState> stateOf(const BindContext &node) {
  QuantizeState s{};
  std::string mode = node.attrs.getOr("mode", std::string("MIN_COMBINED"));
  std::string rounding = node.attrs.getOr("round_mode", std::string("HALF_AWAY_FROM_ZERO"));
  s.mode = mode == "MIN_FIRST" ? Mode::MinFirst
           : mode == "SCALED"  ? Mode::Scaled
                               : Mode::MinCombined;
  s.halfToEven = rounding == "HALF_TO_EVEN";
  s.isNarrow = node.attrs.getOr("narrow_range", false);
  s.axis = node.attrs.getOr<int64_t>("axis", -1);
  s.minRange = node.attrs.getOr("ensure_minimum_range", 0.01f);
  s.dtype = node.outputTypes[0];
  if (s.halfToEven && s.mode != Mode::Scaled)
    return Unexpected(
        invalidArgument("round_mode HALF_TO_EVEN requires mode SCALED, but mode is ", mode));
  return s;
}

// The shape of input 0 as [outer, slices, inner], each slice with a range of its own.
struct Slices {
  int64_t outer = 1, slices = 1, inner = 1;

  template <typename Body> void forEach(int64_t slice, Body &&body) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        body((o * slices + slice) * inner + i);
  }
};

std::optional<Slices> readSlices(OpContext &ctx, int64_t axis) {
  const Tensor &in = ctx.input(0);
  Slices s;
  if (axis < -1 || axis >= in.rank()) {
    ctx.fail(invalidArgument("axis is ", axis, ", but the input has rank ", in.rank()));
    return std::nullopt;
  }
  if (axis < 0) {
    s.inner = in.count();
  } else {
    auto d = static_cast<size_t>(axis);
    s = {countBetween(in.dims(), 0, d), in.dims()[d],
         countBetween(in.dims(), d + 1, in.dims().size())};
  }
  for (int i : {1, 2})
    if (ctx.input(i).count() != s.slices || (axis >= 0 && ctx.input(i).rank() != 1)) {
      ctx.fail(invalidArgument("input ", i, " must have a limit for each of ", s.slices,
                               " slices, but has shape ", dimsText(ctx.input(i).dims())));
      return std::nullopt;
    }
  return s;
}

// --- QuantizeV2 ----------------------------------------------------------------------------------

template <typename T>
void quantizeSlice(const QuantizeState &s, const Slices &slices, int64_t slice, const float *in,
                   T *out, FloatRange &range) {
  auto clamped = [&](int64_t i) { return std::max(std::min(in[i], range.max), range.min); };
  if (s.mode == Mode::MinFirst) {
    Quantizer<T> quantize(range);
    return slices.forEach(slice, [&](int64_t i) { out[i] = quantize(in[i]); });
  }
  if (s.mode == Mode::MinCombined) {
    auto scale =
        static_cast<float>((double(highestOf<T>) - double(lowestOf<T>)) / (range.max - range.min));
    auto half = static_cast<float>(stepsOf<T> / 2);
    return slices.forEach(slice, [&](int64_t i) {
      float steps = (clamped(i) - range.min) * scale;
      out[i] = truncateReal<T>(std::is_signed_v<T> ? std::round(steps - half) : steps + 0.5f);
    });
  }
  auto low = static_cast<int>(lowestOf<T> + (s.isNarrow ? 1 : 0));
  auto high = static_cast<int>(highestOf<T>);
  auto side = [](int limit, float end) {
    return float(limit) * end > 0 ? float(limit) / end : FLT_MAX;
  };
  float scale = std::min(side(low, range.min), side(high, range.max));
  range = {float(low) / scale, float(high) / scale};
  slices.forEach(slice, [&](int64_t i) {
    float steps = clamped(i) * scale;
    out[i] = truncateReal<T>(s.halfToEven ? std::nearbyint(steps) : std::round(steps));
  });
}

// Widens a range so that it contains zero and is at least `least` wide.
FloatRange widened(FloatRange range, float least) {
  float min = std::min(0.0f, range.min);
  float size = std::max({1.0f, std::abs(range.min), std::abs(range.max)}) * least;
  return {min, std::max(0.0f, std::max(range.max, min + size))};
}

template <typename T> struct QuantizeKernel {
  static void run(OpContext &ctx) {
    const auto &s = ctx.state<QuantizeState>();
    const Tensor in = ctx.input(0), min = ctx.input(1), max = ctx.input(2);
    auto slices = TREADLE_OR_RETURN(readSlices(ctx, s.axis));
    if (s.mode == Mode::MinFirst && s.axis >= 0)
      return ctx.fail(unimplemented("mode MIN_FIRST is not supported with axis ", s.axis));
    Dims dims = s.axis < 0 ? Dims() : Dims(&slices.slices, 1);
    Tensor *out = ctx.allocateOutput(0, s.dtype, in.dims());
    Tensor *outMin = ctx.allocateOutput(1, DType::Float32, dims);
    Tensor *outMax = ctx.allocateOutput(2, DType::Float32, dims);
    if (!out || !outMin || !outMax)
      return;
    for (int64_t k = 0; k < slices.slices; ++k) {
      FloatRange range{min.data<float>()[k], max.data<float>()[k]};
      if (range.max < range.min)
        return ctx.fail(invalidArgument("max_range is ", range.max,
                                        ", which is less than "
                                        "min_range, ",
                                        range.min));
      range = widened(range, s.minRange);
      quantizeSlice<T>(s, slices, k, in.data<float>(), out->data<T>(), range);
      outMin->data<float>()[k] = range.min;
      outMax->data<float>()[k] = range.max;
    }
  }
};

// --- Dequantize ----------------------------------------------------------------------------------

template <typename T, typename Put>
void dequantizeSlice(const QuantizeState &s, const Slices &slices, int64_t slice, const T *in,
                     FloatRange range, Put &&put) {
  if (s.mode == Mode::MinFirst) {
    Dequantizer<T> dequantize(range);
    return slices.forEach(slice, [&](int64_t i) { put(i, dequantize(in[i])); });
  }
  if (s.mode == Mode::MinCombined) {
    float scale = (range.max - range.min) /
                  (static_cast<float>(highestOf<T>) - static_cast<float>(lowestOf<T>));
    float half = std::is_signed_v<T> ? static_cast<float>(stepsOf<T> / 2) : 0.0f;
    return slices.forEach(
        slice, [&](int64_t i) { put(i, (static_cast<float>(in[i]) + half) * scale + range.min); });
  }
  float fromMax = range.max / static_cast<float>(highestOf<T>);
  float scale = fromMax;
  if (std::is_signed_v<T>)
    scale = std::max(range.min / static_cast<float>(lowestOf<T> + (s.isNarrow ? 1 : 0)), fromMax);
  slices.forEach(slice, [&](int64_t i) { put(i, static_cast<float>(in[i]) * scale); });
}

template <typename T> struct DequantizeKernel {
  static void run(OpContext &ctx) {
    const auto &s = ctx.state<QuantizeState>();
    const Tensor in = ctx.input(0), min = ctx.input(1), max = ctx.input(2);
    auto slices = TREADLE_OR_RETURN(readSlices(ctx, s.axis));
    if (s.mode == Mode::MinFirst && slices.slices != 1)
      return ctx.fail(unimplemented(
          "mode MIN_FIRST is not supported with more than one slice of axis ", s.axis));
    Tensor *out = ctx.allocateOutput(0, s.dtype, in.dims());
    for (int64_t k = 0; out && k < slices.slices; ++k) {
      FloatRange range{min.data<float>()[k], max.data<float>()[k]};
      dequantizeSlice<T>(s, slices, k, in.data<T>(), range, [&](int64_t i, float x) {
        if (s.dtype == DType::BFloat16)
          out->data<BFloat16>()[i] = BFloat16(x);
        else
          out->data<float>()[i] = x;
      });
    }
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindFor(const BindContext &node, DType dtype) {
  auto s = TREADLE_TRY(stateOf(node));
  BoundKernel bound;
  if (!visitQuantized(dtype, [&]<typename T>() { bound.fn = Kernel<T>::run; }))
    return unsupportedDType(node, dtype);
  return boundWith(bound.fn, s);
}

Expected<BoundKernel> bindQuantize(const BindContext &node) {
  return bindFor<QuantizeKernel>(node, node.outputTypes[0]);
}

Expected<BoundKernel> bindDequantize(const BindContext &node) {
  DType to = node.outputTypes[0];
  if (to != DType::Float32 && to != DType::BFloat16)
    return unsupportedDType(node, to);
  if (to == DType::BFloat16 &&
      node.attrs.getOr("mode", std::string("MIN_COMBINED")) != "MIN_COMBINED")
    return Unexpected(invalidArgument("mode must be MIN_COMBINED if the output is bfloat16"));
  return bindFor<DequantizeKernel>(node, node.inputTypes[0]);
}

// --- XlaDequantize -----------------------------------------------------------------------------

struct PackedState {
  float least, scale;
  bool isTransposed;
};

/// XLA computes in bfloat16 and rounds after each step.
float rounded(float x) { return float(BFloat16(x)); }

/// Unpacks four bytes of each number, highest first, and dequantizes them; transposes the matrix on
/// request.
void dequantizePacked(OpContext &ctx) {
  const auto &s = ctx.state<PackedState>();
  const Tensor in = ctx.input(0);
  if (in.rank() < 1 || (s.isTransposed && in.rank() != 2))
    return ctx.fail(invalidArgument("input is ", tensorTypeText(in), ", expected ",
                                    s.isTransposed ? "a matrix" : "at least one dimension"));
  DimVector dims(in.dims());
  int64_t columns = dims[dims.size() - 1] *= 4, rows = in.dim(0);
  if (s.isTransposed)
    std::swap(dims[0], dims[1]);
  Tensor *out = ctx.allocateOutput(0, DType::BFloat16, dims);
  for (int64_t i = 0; out && i < out->count(); ++i) {
    uint32_t byte = in.data<uint32_t>()[i / 4] >> (24 - 8 * (i % 4)) & 0xff;
    int64_t to = s.isTransposed ? i % columns * rows + i / columns : i;
    out->data<BFloat16>()[to] = BFloat16(rounded(static_cast<float>(byte) * s.scale) + s.least);
  }
}

Expected<BoundKernel> bindDequantizePacked(const BindContext &node) {
  std::string mode = node.attrs.getOr("mode", std::string());
  if (mode != "MIN_COMBINED")
    return Unexpected(invalidArgument("mode is '", mode, "', expected MIN_COMBINED"));
  float least = rounded(node.attrs.getOr("min_range", 0.0f)),
        most = rounded(node.attrs.getOr("max_range", 0.0f));
  return boundWith(dequantizePacked, PackedState{least, rounded(rounded(most - least) / 255.0f),
                                                 node.attrs.getOr("transpose_output", false)});
}

const KernelEntry quantizeTable[] = {
    {"QuantizeV2", bindQuantize},
    {"Dequantize", bindDequantize},
    {"XlaDequantize", bindDequantizePacked},
};

} // namespace

std::span<const KernelEntry> quantizeKernels() { return quantizeTable; }

} // namespace treadle
