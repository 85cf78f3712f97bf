// ExtractGlimpse: a window of each image of a batch, filled with noise or zeros outside the image.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/images/Image.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace treadle {
namespace {

struct GlimpseState {
  enum Noise { Uniform, Gaussian, Zero } noise = Uniform;
  bool isCentered = true, isNormalized = true;
  bool isFirstVersion = false; // in which offsets always refer to the window's center
};

/// Returns the start of a window of `size` on an axis of `whole` pixels.
int64_t windowStart(float offset, int64_t size, int64_t whole, const GlimpseState &how) {
  auto w = static_cast<float>(whole), s = static_cast<float>(size);
  if (how.isNormalized)
    offset *= w;
  bool spansTwo = how.isNormalized || how.isFirstVersion; // from -1 to 1
  if (how.isCentered)
    offset = (spansTwo ? offset / 2 : offset) + w / 2;
  if (how.isFirstVersion || (how.isCentered && how.isNormalized))
    offset -= s / 2;
  constexpr float outside = 1e12f; // beyond any image
  return static_cast<int64_t>(std::isnan(offset) ? outside : std::clamp(offset, -outside, outside));
}

// Fills with noise: uniform in the image's range, or normal with each channel's mean and deviation,
// within its range. The ops have no seed, so the exact numbers are unspecified.
void fillNoise(const float *image, int64_t pixels, int64_t channels, GlimpseState::Noise noise,
               float *out, int64_t count) {
  static thread_local std::mt19937 numbers{std::random_device{}()};
  if (noise == GlimpseState::Zero) {
    std::fill_n(out, count, 0.0f);
    return;
  }
  if (noise == GlimpseState::Uniform) {
    auto [low, high] = std::minmax_element(image, image + pixels * channels);
    std::uniform_real_distribution<float> share(0, 1);
    std::generate_n(out, count,
                    [&, low = *low, range = *high - *low] { return low + share(numbers) * range; });
    return;
  }
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    float low = image[c], high = image[c];
    for (int64_t i = c; i < pixels * channels; i += channels) {
      sum += image[i];
      squares += double{image[i]} * image[i];
      low = std::min(low, image[i]);
      high = std::max(high, image[i]);
    }
    double mean = sum / static_cast<double>(pixels);
    double variance = std::max(0.0, squares / static_cast<double>(pixels) - mean * mean);
    std::normal_distribution<float> normal(static_cast<float>(mean),
                                           static_cast<float>(std::sqrt(variance)));
    for (int64_t i = c; i < count; i += channels)
      out[i] = std::clamp(normal(numbers), low, high);
  }
}

void glimpse(OpContext &ctx) {
  const auto &how = ctx.state<GlimpseState>();
  auto size = TREADLE_OR_RETURN(readImageShape(ctx, 0, "input"));
  const Tensor &window = ctx.input(1), &offsets = ctx.input(2);
  if (window.rank() != 1 || window.count() != 2 || offsets.rank() != 2 ||
      offsets.dim(0) != size.batch || offsets.dim(1) != 2)
    return ctx.fail(invalidArgument("size must have two elements and offsets be of [", size.batch,
                                    ",2], but they are ", tensorTypeText(window), " and ",
                                    tensorTypeText(offsets)));
  ImageShape to{size.batch, indexAt(window, 0), indexAt(window, 1), size.channels};
  Tensor *out = ctx.allocateOutput(0, DType::Float32, to.dims());
  if (!out || !out->count())
    return;
  if (!size.imageSize())
    return ctx.fail(
        invalidArgument("input has no pixels: its shape is ", dimsText(ctx.input(0).dims())));
  const float *from = ctx.input(0).data<float>();
  for (int64_t n = 0; n < size.batch; ++n) {
    const float *image = from + size.at(n, 0, 0);
    const float *offset = offsets.data<float>() + 2 * n;
    int64_t top = windowStart(offset[0], to.height, size.height, how);
    int64_t left = windowStart(offset[1], to.width, size.width, how);
    if (top < 0 || left < 0 || top + to.height > size.height || left + to.width > size.width)
      fillNoise(image, size.height * size.width, size.channels, how.noise,
                out->data<float>() + to.at(n, 0, 0), to.imageSize());
    int64_t firstColumn = std::max<int64_t>(0, left);
    int64_t columns = std::min(size.width, left + to.width) - firstColumn;
    for (int64_t y = std::max<int64_t>(0, top);
         y < std::min(size.height, top + to.height) && columns > 0; ++y)
      std::copy_n(from + size.at(n, y, firstColumn), columns * size.channels,
                  out->data<float>() + to.at(n, y - top, firstColumn - left));
  }
}

template <bool isV2> Expected<BoundKernel> bindGlimpse(const BindContext &node) {
  static const std::pair<std::string_view, GlimpseState::Noise> names[] = {
      {"uniform", GlimpseState::Uniform},
      {"gaussian", GlimpseState::Gaussian},
      {"zero", GlimpseState::Zero},
  };
  bool isUniform = node.attrs.getOr("uniform_noise", true);
  std::string noise = node.attrs.getOr("noise", std::string("uniform"));
  if (isUniform && !noise.empty() && noise != "uniform")
    return Unexpected(invalidArgument("attribute 'noise' is '", noise,
                                      "', but 'uniform_noise' is set; expected one of them"));
  if (noise.empty())
    noise = isUniform ? "uniform" : "gaussian";
  auto found = std::ranges::find(names, noise, [](auto &entry) { return entry.first; });
  if (found == std::end(names))
    return Unexpected(
        invalidArgument("attribute 'noise' is '", noise, "', expected uniform, gaussian or zero"));
  return boundWith(glimpse, GlimpseState{found->second, node.attrs.getOr("centered", true),
                                         node.attrs.getOr("normalized", true), !isV2});
}

const KernelEntry glimpseTable[] = {
    {"ExtractGlimpse", bindGlimpse<false>},
    {"ExtractGlimpseV2", bindGlimpse<true>},
};

} // namespace

std::span<const KernelEntry> glimpseKernels() { return glimpseTable; }

} // namespace treadle
