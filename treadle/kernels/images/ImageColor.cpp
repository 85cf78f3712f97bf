// Colors: contrast, hue and saturation, and RGB to HSV and back. Hue is in [0, 1).
#include "treadle/kernels/elementwise/Elementwise.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

template <typename Real> struct Colour {
  Real a, b, c; // red, green, blue, or hue, saturation, value
};

template <typename Real> Colour<Real> toHsv(Colour<Real> rgb) {
  Real value = std::max({rgb.a, rgb.b, rgb.c});
  Real range = value - std::min({rgb.a, rgb.b, rgb.c});
  Real hue = 0, sixth = Real(1) / (6 * range);
  if (range > 0) {
    if (rgb.a == value)
      hue = sixth * (rgb.b - rgb.c);
    else if (rgb.b == value)
      hue = sixth * (rgb.c - rgb.a) + Real(2) / 6;
    else
      hue = sixth * (rgb.a - rgb.b) + Real(4) / 6;
  }
  return {hue < 0 ? hue + 1 : hue, value > 0 ? range / value : 0, value};
}

template <typename Real> Colour<Real> toRgb(Colour<Real> hsv) {
  auto within = [](Real x) { return std::clamp(x, Real(0), Real(1)); };
  Real at = hsv.a * 6;
  auto channel = [&](Real share) { return ((1 - hsv.b) + hsv.b * within(share)) * hsv.c; };
  return {channel(std::abs(at - 3) - 1), channel(2 - std::abs(at - 2)),
          channel(2 - std::abs(at - 4))};
}

// --- color conversions and adjustments -----------------------------------------------------------

// As in TensorFlow, a wrong number of channels is FailedPrecondition in the conversions, and
// InvalidArgument in the adjustments.
bool checkColours(OpContext &ctx, int minimalRank, Code wrongChannels) {
  const Tensor &in = ctx.input(0);
  bool hasRank = in.rank() >= minimalRank;
  if (hasRank && in.dim(in.rank() - 1) == 3)
    return true;
  Error error = invalidArgument("images must have rank ", minimalRank,
                                " or more and a last dimension of 3 channels, but have shape ",
                                dimsText(in.dims()));
  if (hasRank)
    error.code = wrongChannels;
  ctx.fail(std::move(error));
  return false;
}

template <typename T, typename Change> void changeColours(OpContext &ctx, Change &&change) {
  const Tensor in = ctx.input(0);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
  using Real = Computed<T>;
  const T *from = in.data<T>();
  T *to = out->data<T>();
  ctx.parallelFor(in.count() / 3, 20, [&](int64_t begin, int64_t end) {
    for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
      Colour<Real> c = change(Colour<Real>{Real(from[i]), Real(from[i + 1]), Real(from[i + 2])});
      to[i] = T(c.a);
      to[i + 1] = T(c.b);
      to[i + 2] = T(c.c);
    }
  });
}

template <typename T> struct RgbToHsv {
  static void run(OpContext &ctx) {
    if (checkColours(ctx, 1, Code::FailedPrecondition))
      changeColours<T>(ctx, toHsv<Computed<T>>);
  }
};
template <typename T> struct HsvToRgb {
  static void run(OpContext &ctx) {
    if (checkColours(ctx, 1, Code::FailedPrecondition))
      changeColours<T>(ctx, toRgb<Computed<T>>);
  }
};

bool checkScalar(OpContext &ctx, const char *what) {
  if (ctx.input(1).isScalar())
    return true;
  ctx.fail(
      invalidArgument(what, " must be a scalar, but has shape ", dimsText(ctx.input(1).dims())));
  return false;
}

// Rotates the hue, and keeps the largest and the smallest channel.
template <typename T> struct AdjustHue {
  static void run(OpContext &ctx) {
    if (!checkColours(ctx, 3, Code::InvalidArgument) || !checkScalar(ctx, "delta"))
      return;
    float turn = ctx.input(1).scalarValue<float>();
    changeColours<T>(ctx, [turn](Colour<float> rgb) {
      float low = std::min({rgb.a, rgb.b, rgb.c}), high = std::max({rgb.a, rgb.b, rgb.c});
      float hue = toHsv(rgb).a + turn;
      Colour<float> pure = toRgb(Colour<float>{hue - std::floor(hue), 1, 1});
      auto scaled = [&](float x) { return low + x * (high - low); };
      return Colour<float>{scaled(pure.a), scaled(pure.b), scaled(pure.c)};
    });
  }
};

template <typename T> struct AdjustSaturation {
  static void run(OpContext &ctx) {
    if (!checkColours(ctx, 3, Code::InvalidArgument) || !checkScalar(ctx, "scale"))
      return;
    float scale = ctx.input(1).scalarValue<float>();
    changeColours<T>(ctx, [scale](Colour<float> rgb) {
      Colour<float> hsv = toHsv(rgb);
      hsv.b = std::clamp(hsv.b * scale, 0.0f, 1.0f);
      return toRgb(hsv);
    });
  }
};

// --- contrast ------------------------------------------------------------------------------------

// Scales the distances from each channel's mean over an image.
template <typename T> struct AdjustContrast {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    if (in.rank() < 3)
      return ctx.fail(
          invalidArgument("images must have rank 3 or more, but have shape ", dimsText(in.dims())));
    if (!checkScalar(ctx, "contrast_factor"))
      return;
    float factor = ctx.input(1).scalarValue<float>();
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    if (!out || !out->count())
      return;
    int64_t channels = in.dim(in.rank() - 1);
    int64_t pixels = in.dim(in.rank() - 3) * in.dim(in.rank() - 2), size = pixels * channels;
    const T *from = in.data<T>();
    T *to = out->data<T>();
    ctx.parallelFor(in.count() / size, 3 * static_cast<double>(size),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t n = begin; n < end; ++n)
                        adjust(from + n * size, pixels, channels, factor, to + n * size);
                    });
  }

  static void adjust(const T *from, int64_t pixels, int64_t channels, float factor, T *to) {
    // doubles, since there may be millions of pixels
    std::vector<double> means(static_cast<size_t>(channels));
    for (int64_t i = 0; i < pixels * channels; ++i)
      means[static_cast<size_t>(i % channels)] += static_cast<float>(from[i]);
    for (double &m : means)
      m /= static_cast<double>(pixels);
    for (int64_t i = 0; i < pixels * channels; ++i) {
      auto mean = static_cast<float>(means[static_cast<size_t>(i % channels)]);
      to[i] = T((static_cast<float>(from[i]) - mean) * factor + mean);
    }
  }
};

// The first version takes any numbers, returns floats, and clamps them.
template <typename T> struct AdjustContrastV1 {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    if (in.rank() < 3)
      return ctx.fail(
          invalidArgument("images must have rank 3 or more, but have shape ", dimsText(in.dims())));
    for (int i : {1, 2, 3})
      if (!ctx.input(i).isScalar())
        return ctx.fail(invalidArgument("input ", i, " must be a scalar, but has shape ",
                                        dimsText(ctx.input(i).dims())));
    float factor = ctx.input(1).scalarValue<float>(), low = ctx.input(2).scalarValue<float>(),
          high = ctx.input(3).scalarValue<float>();
    Tensor *out = ctx.allocateOutput(0, DType::Float32, in.dims());
    if (!out || !out->count())
      return;
    int64_t channels = in.dim(in.rank() - 1);
    int64_t pixels = in.dim(in.rank() - 3) * in.dim(in.rank() - 2);
    float *to = out->data<float>();
    std::transform(in.data<T>(), in.data<T>() + in.count(), to,
                   [](T v) { return static_cast<float>(v); });
    for (float *image = to; image < to + out->count(); image += pixels * channels)
      AdjustContrast<float>::adjust(image, pixels, channels, factor, image);
    std::transform(to, to + out->count(), to,
                   [&](float v) { return std::max(std::min(v, high), low); });
  }
};

using ImageTypes = TypeList<float, Half>;
using AnyImageTypes = TypeList<uint8_t, int8_t, int16_t, int32_t, float, double>;
const KernelEntry imageColorTable[] = {
    {"RGBToHSV", bindByType<RgbToHsv, FloatTypes>},
    {"HSVToRGB", bindByType<HsvToRgb, FloatTypes>},
    {"AdjustHue", bindByType<AdjustHue, ImageTypes>},
    {"AdjustSaturation", bindByType<AdjustSaturation, ImageTypes>},
    {"AdjustContrast", bindByType<AdjustContrastV1, AnyImageTypes>},
    {"AdjustContrastv2", bindByType<AdjustContrast, ImageTypes>},
};

} // namespace

std::span<const KernelEntry> imageColorKernels() { return imageColorTable; }

} // namespace treadle
