// Projective transforms of images (eight numbers of a 3 x 3 matrix whose last is 1), and image
// patches as channels.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Conversion.h"
#include "treadle/kernels/images/Image.h"

#include <string>

namespace treadle {
namespace {

// --- projections ---------------------------------------------------------------------------------

// Maps a coordinate outside [0, size) to the one whose value is used.
using Fill = float (*)(float at, float size);

float constantFill(float at, float) { return at; }
float nearestFill(float at, float size) { return std::clamp(at, 0.0f, size - 1); }

float reflectFill(float at, float size) {
  if (at >= 0 && at <= size - 1)
    return at;
  if (size <= 1)
    return 0;
  float period = 2 * size;
  if (at < 0) {
    if (at < period)
      at += period * std::trunc(-at / period);
    at = at < -size ? at + period : -at - 1;
  } else {
    at -= period * std::trunc(at / period);
    if (at >= size)
      at = period - at - 1;
  }
  return nearestFill(at, size);
}

float wrapFill(float at, float size) {
  if (at >= 0 && at <= size - 1)
    return at;
  if (size <= 1)
    return 0;
  if (at < 0)
    at += size * (std::trunc(-at / (size - 1)) + 1);
  else
    at -= size * std::trunc(at / (size - 1));
  return nearestFill(at, size);
}

struct FillMode {
  const char *name;
  Fill fill;
};
const FillMode fillModes[] = {{"REFLECT", reflectFill},
                              {"WRAP", wrapFill},
                              {"CONSTANT", constantFill},
                              {"NEAREST", nearestFill}};

struct ProjectState {
  Fill fill;
  bool isBilinear;
};

template <typename T> struct Project {
  const T *images;
  ImageShape in;
  T outside;
  const ProjectState &s;

  T read(int64_t n, float y, float x, int64_t c) const {
    if (!(y >= 0 && y < static_cast<float>(in.height) && x >= 0 &&
          x < static_cast<float>(in.width)))
      return outside;
    return images[in.at(n, static_cast<int64_t>(y), static_cast<int64_t>(x)) + c];
  }

  T bilinear(int64_t n, float y, float x, int64_t c) const {
    float y0 = std::floor(y), x0 = std::floor(x), y1 = y0 + 1, x1 = x0 + 1;
    auto along = [&](float row) {
      return (x1 - x) * static_cast<float>(read(n, row, x0, c)) +
             (x - x0) * static_cast<float>(read(n, row, x1, c));
    };
    return static_cast<T>((y1 - y) * along(y0) + (y - y0) * along(y1));
  }

  // Computes one pixel, all channels; `m` is the projection.
  void pixel(const float *m, int64_t n, int64_t outY, int64_t outX, T *to) const {
    auto x = static_cast<float>(outX), y = static_cast<float>(outY);
    float depth = m[6] * x + m[7] * y + 1;
    if (depth == 0)
      return void(std::fill_n(to, in.channels, outside));
    float atX = s.fill((m[0] * x + m[1] * y + m[2]) / depth, static_cast<float>(in.width));
    float atY = s.fill((m[3] * x + m[4] * y + m[5]) / depth, static_cast<float>(in.height));
    for (int64_t c = 0; c < in.channels; ++c)
      to[c] =
          s.isBilinear ? bilinear(n, atY, atX, c) : read(n, std::round(atY), std::round(atX), c);
  }

  // Inputs: the images, a projection per image or one for all, the size, the fill value (V3).
  static void run(OpContext &ctx) {
    const Tensor images = ctx.input(0), projections = ctx.input(1);
    auto in = TREADLE_OR_RETURN(readImageShape(ctx, 0, "images"));
    if (projections.rank() != 2 || projections.dim(1) != 8 ||
        (projections.dim(0) != 1 && projections.dim(0) != in.batch))
      return ctx.fail(invalidArgument("transforms must have shape [1,8] or [", in.batch,
                                      ",8], but have ", dimsText(projections.dims())));
    auto size = TREADLE_OR_RETURN(readImageSize(ctx, 2, "output_shape"));
    T outside(0);
    if (ctx.numInputs() > 3) {
      if (!ctx.input(3).isScalar())
        return ctx.fail(invalidArgument("fill_value must be a scalar, but has shape ",
                                        dimsText(ctx.input(3).dims())));
      outside = convert<T>(ctx.input(3).scalarValue<float>());
    }
    ImageShape out{in.batch, size[0], size[1], in.channels};
    Tensor *result = ctx.allocateOutput(0, images.dtype(), out.dims());
    if (!result || !result->count())
      return;
    Project project{images.data<T>(), in, outside, ctx.state<ProjectState>()};
    const auto *m = projections.data<float>();
    T *to = result->data<T>();
    int64_t step = projections.dim(0) == 1 ? 0 : 8;
    ctx.parallelFor(out.batch * out.height, 20 * static_cast<double>(out.rowSize()),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i)
                        for (int64_t x = 0; x < out.width; ++x) {
                          int64_t n = i / out.height, y = i % out.height;
                          project.pixel(m + n * step, n, y, x, to + out.at(n, y, x));
                        }
                    });
  }
};

Expected<BoundKernel> bindProject(const BindContext &node) {
  std::string fill = node.attrs.getOr("fill_mode", std::string("CONSTANT"));
  std::string method = node.attrs.getOr("interpolation", std::string("NEAREST"));
  const FillMode *mode =
      std::ranges::find_if(fillModes, [&](const FillMode &m) { return m.name == fill; });
  if (mode == std::end(fillModes))
    return Unexpected(
        invalidArgument("fill_mode is '", fill, "', expected REFLECT, WRAP, CONSTANT or NEAREST"));
  if (method != "NEAREST" && method != "BILINEAR")
    return Unexpected(
        invalidArgument("interpolation is '", method, "', expected NEAREST or BILINEAR"));
  using Types = TypeList<uint8_t, int32_t, int64_t, Half, BFloat16, float, double>;
  return withState(bindForType<Project, Types>(node, node.inputTypes[0]),
                   ProjectState{mode->fill, method == "BILINEAR"});
}

// --- patches -------------------------------------------------------------------------------------

struct PatchState {
  WindowAttrs attrs;
  Volume size;
};

// For volumes, if strides are larger than windows, the skipped elements are divided between both
// borders.
void centre(Window &w) {
  for (size_t d = 0; d < 3; ++d)
    w.padBefore[d] =
        ((w.out[d] - 1) * w.stride[d] + (w.size[d] - 1) * w.dilation[d] + 1 - w.in[d]) / 2;
}

void runPatches(OpContext &ctx) {
  const auto &s = ctx.state<PatchState>();
  const Tensor in = ctx.input(0);
  ImageDims dims{.spatial = s.attrs.spatial};
  if (!dims.read(in.dims()))
    return ctx.fail(invalidArgument("images must have rank ", s.attrs.spatial + 2,
                                    ", but have shape ", dimsText(in.dims())));
  Window window;
  if (!placeWindow(ctx, s.attrs, dims.size, s.size, window))
    return;
  if (s.attrs.spatial == 3 && s.attrs.padding == WindowAttrs::Padding::Same)
    centre(window);
  ImageDims out = dims;
  out.size = window.out;
  if (!countElements(std::array{s.size[0], s.size[1], s.size[2], dims.channels}))
    return ctx.fail(invalidArgument("a patch of ", dimsText(s.size), " pixels with ", dims.channels,
                                    " channels is too large"));
  int64_t taps = s.size[0] * s.size[1] * s.size[2], channels = dims.channels;
  out.channels = channels * taps;
  Tensor *result = ctx.allocateOutput(0, in.dtype(), out.tensorDims());
  if (!result || !result->count())
    return;
  zeroElements(in.dtype(), result->raw(), result->count());
  visitMoved(in.dtype(), [&]<typename T>() {
    for (int64_t n = 0; n < dims.batch; ++n) {
      const T *from = in.data<T>() + n * dims.positions() * channels;
      T *to = result->data<T>() + n * out.positions() * out.channels;
      forEachTap(window, [&](int64_t o, int64_t i, int64_t tap) {
        std::copy_n(from + i * channels, channels, to + (o * taps + tap) * channels);
      });
    }
  });
}

// Reads a list with one entry per dimension of the input, which must be 1 for batch and channels.
Expected<bool> readList(const BindContext &node, const char *name, size_t spatial, Volume &volume) {
  auto list = node.attrs.getOr(name, std::vector<int64_t>());
  size_t rank = spatial + 2;
  if (list.empty() && std::string_view(name) == "rates")
    return true;
  if (list.size() != rank || list.front() != 1 || list.back() != 1)
    return Unexpected(invalidArgument(name, " must have ", rank,
                                      " elements, the first and the "
                                      "last of them 1, but is ",
                                      dimsText(list)));
  for (size_t d = 0; d < spatial; ++d) {
    int64_t value = volume[3 - spatial + d] = list[d + 1];
    if (value < 1 || value > std::numeric_limits<int32_t>::max())
      return Unexpected(invalidArgument(name, " has ", value, "; expected positive numbers"));
  }
  return true;
}

template <int spatial> Expected<BoundKernel> bindPatches(const BindContext &node) {
  PatchState s{.attrs = {.spatial = spatial}, .size = {1, 1, 1}};
  Volume *lists[] = {&s.size, &s.attrs.strides, &s.attrs.dilations};
  const char *names[] = {"ksizes", "strides", "rates"};
  for (int i = 0; i < 3; ++i)
    if (Expected<bool> read = readList(node, names[i], spatial, *lists[i]); !read)
      return Unexpected(std::move(read.error()));
  std::string padding = node.attrs.getOr("padding", std::string());
  if (padding != "SAME" && padding != "VALID")
    return Unexpected(invalidArgument("padding is '", padding, "', expected SAME or VALID"));
  if (padding == "SAME")
    s.attrs.padding = WindowAttrs::Padding::Same;
  if (!visitType(node.inputTypes[0], NumericTypes(), []<typename T>() {}))
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(runPatches, s);
}

const KernelEntry imageTransformTable[] = {
    {"ImageProjectiveTransformV2", bindProject},
    {"ImageProjectiveTransformV3", bindProject},
    {"ExtractImagePatches", bindPatches<2>},
    {"ExtractVolumePatches", bindPatches<3>},
};

} // namespace

std::span<const KernelEntry> imageTransformKernels() { return imageTransformTable; }

} // namespace treadle
