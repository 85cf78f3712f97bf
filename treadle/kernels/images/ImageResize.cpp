// Image resizing: nearest neighbor, bilinear, bicubic (Keys, "Cubic convolution interpolation for
// digital image processing", 1981) and area, and the gradients of these.
//
// All but area are separable: each row (and column) of the result is a weighted sum of at most four
// of the image, whose weights are computed once; the gradient uses the same weights.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Wrapping.h"
#include "treadle/kernels/images/Image.h"

#include <array>
#include <vector>

namespace treadle {
namespace {

struct ResizeState {
  bool alignsCorners, usesPixelCentres;
  DType outType;
};

// The shapes of a resizing: `in` is the image, `out` the resized one, also in gradients.
struct Resize {
  ImageShape in, out;
};

float scaleOf(int64_t in, int64_t out, bool alignsCorners) {
  return alignsCorners && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                  : static_cast<float>(in) / static_cast<float>(out);
}

bool checkNotEmpty(OpContext &ctx, const ImageShape &image) {
  if (image.height > 0 && image.width > 0 && image.channels > 0)
    return true;
  ctx.fail(invalidArgument("the image must have pixels and channels, but has shape ",
                           dimsText(image.dims())));
  return false;
}

// Inputs: the image and the new size.
bool readResize(OpContext &ctx, Resize &resize) {
  auto image = readImageShape(ctx, 0, "images");
  auto size = image ? readImageSize(ctx, 1, "size") : std::nullopt;
  if (!size || !checkNotEmpty(ctx, *image))
    return false;
  resize.in = resize.out = *image;
  resize.out.height = (*size)[0];
  resize.out.width = (*size)[1];
  return true;
}

// --- weights of a resized line -------------------------------------------------------------------

// Up to four elements and their weights.
struct WeightedElements {
  std::array<int64_t, 4> at;
  std::array<float, 4> weight;
};

float positionOf(const ResizeState &s, int64_t i, float scale) {
  auto f = static_cast<float>(i);
  return s.usesPixelCentres ? (f + 0.5f) * scale - 0.5f : f * scale;
}

struct Bilinear {
  static constexpr int taps = 2;
  static WeightedElements mix(const ResizeState &s, int64_t i, float scale, int64_t size) {
    float in = positionOf(s, i, scale), low = std::floor(in);
    int64_t upper = std::min(static_cast<int64_t>(std::ceil(in)), size - 1);
    int64_t lower = std::clamp<int64_t>(static_cast<int64_t>(low), 0, upper);
    return {{lower, upper}, {1 - (in - low), in - low}};
  }
};

float cubicNear(float x, float a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
float cubicFar(float x, float a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

struct Bicubic {
  static constexpr int taps = 4;

  // Rounds positions to 1/1024 of a pixel, like TensorFlow's table of weights. With half-pixel
  // centers, elements beyond the border have no weight; otherwise the border is repeated.
  static WeightedElements mix(const ResizeState &s, int64_t i, float scale, int64_t size) {
    float a = s.usesPixelCentres ? -0.5f : -0.75f;
    float in = positionOf(s, i, scale), low = std::floor(in);
    float x = static_cast<float>(std::lrint((in - low) * 1024)) / 1024;
    WeightedElements mix{
        {}, {cubicFar(x + 1, a), cubicNear(x, a), cubicNear(1 - x, a), cubicFar(2 - x, a)}};
    float sum = 0;
    for (int k = 0; k < taps; ++k) {
      int64_t at = static_cast<int64_t>(low) - 1 + k;
      mix.at[k] = std::clamp<int64_t>(at, 0, size - 1);
      if (s.usesPixelCentres && mix.at[k] != at)
        mix.weight[k] = 0;
      sum += mix.weight[k];
    }
    if (s.usesPixelCentres && std::abs(sum) >= 1000 * std::numeric_limits<float>::min())
      for (float &w : mix.weight)
        w *= 1 / sum;
    return mix;
  }
};

template <typename Method>
std::vector<WeightedElements> mixes(const ResizeState &s, int64_t in, int64_t out) {
  std::vector<WeightedElements> all;
  all.reserve(static_cast<size_t>(out));
  float scale = scaleOf(in, out, s.alignsCorners);
  for (int64_t i = 0; i < out; ++i)
    all.push_back(Method::mix(s, i, scale, in));
  return all;
}

// --- forward -------------------------------------------------------------------------------------

// Computes one row of the result from the rows that contribute to it.
template <typename Method>
void mixRow(const float *image, const ImageShape &in, const WeightedElements &rows,
            std::span<const WeightedElements> columns, float *out) {
  for (const WeightedElements &column : columns)
    for (int64_t c = 0; c < in.channels; ++c, ++out) {
      float sum = 0;
      for (int y = 0; y < Method::taps; ++y) {
        const float *row = image + rows.at[y] * in.rowSize() + c;
        float along = 0;
        for (int x = 0; x < Method::taps; ++x)
          along += row[column.at[x] * in.channels] * column.weight[x];
        sum += along * rows.weight[y];
      }
      *out = sum;
    }
}

template <typename Method> void runResize(OpContext &ctx) {
  const auto &s = ctx.state<ResizeState>();
  const Tensor in = ctx.input(0);
  Resize r;
  if (!readResize(ctx, r))
    return;
  auto x = TREADLE_OR_RETURN(asFloats(ctx, in));
  if (r.in.dims() == r.out.dims())
    return ctx.setOutput(0, x);
  Tensor *out = ctx.allocateOutput(0, DType::Float32, r.out.dims());
  if (!out || !out->count())
    return;
  std::vector<WeightedElements> rows = mixes<Method>(s, r.in.height, r.out.height);
  std::vector<WeightedElements> columns = mixes<Method>(s, r.in.width, r.out.width);
  const float *from = x.data<float>();
  auto *to = out->data<float>();
  double cost = static_cast<double>(r.out.rowSize()) * Method::taps * Method::taps;
  ctx.parallelFor(r.out.batch * r.out.height, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      mixRow<Method>(from + i / r.out.height * r.in.imageSize(), r.in,
                     rows[static_cast<size_t>(i % r.out.height)], columns,
                     to + i * r.out.rowSize());
  });
}

// --- gradients -----------------------------------------------------------------------------------

template <typename Method, typename T>
void spread(const ResizeState &s, const Resize &r, const float *gradient, T *out) {
  std::vector<WeightedElements> rows = mixes<Method>(s, r.in.height, r.out.height);
  std::vector<WeightedElements> columns = mixes<Method>(s, r.in.width, r.out.width);
  for (int64_t n = 0; n < r.out.batch; ++n)
    for (const WeightedElements &row : rows)
      for (const WeightedElements &column : columns)
        for (int64_t c = 0; c < r.out.channels; ++c, ++gradient)
          for (int y = 0; y < Method::taps; ++y)
            for (int x = 0; x < Method::taps; ++x) {
              T &sum = out[r.in.at(n, row.at[y], column.at[x]) + c];
              sum = static_cast<T>(sum +
                                   static_cast<T>(*gradient * row.weight[y] * column.weight[x]));
            }
}

// Inputs: the gradient and the image.
template <typename Method> void runResizeGrad(OpContext &ctx) {
  const auto &s = ctx.state<ResizeState>();
  const Tensor gradient = ctx.input(0);
  auto out = readImageShape(ctx, 0, "grads"), in = readImageShape(ctx, 1, "original_image");
  if (!out || !in)
    return;
  if (!in->height || !in->width)
    return ctx.fail(
        invalidArgument("the image must have pixels, but has shape ", dimsText(in->dims())));
  in->batch = out->batch; // only height and width of the image matter
  in->channels = out->channels;
  auto g = asFloats(ctx, gradient);
  Tensor *sums = TREADLE_OR_RETURN(g ? ctx.allocateOutput(0, s.outType, in->dims()) : nullptr);
  zeroElements(s.outType, sums->raw(), sums->count());
  if (gradient.count() == 0)
    return;
  visitType(s.outType, FloatTypes(), [&]<typename T>() {
    spread<Method>(s, {*in, *out}, g->template data<float>(), sums->template data<T>());
  });
}

// --- nearest neighbor ----------------------------------------------------------------------------

std::vector<int64_t> nearest(const ResizeState &s, int64_t in, int64_t out) {
  std::vector<int64_t> at(static_cast<size_t>(out));
  float scale = scaleOf(in, out, s.alignsCorners);
  for (int64_t i = 0; i < out; ++i) {
    float f = (static_cast<float>(i) + (s.usesPixelCentres ? 0.5f : 0)) * scale;
    f = s.alignsCorners ? std::round(f) : std::floor(f);
    at[static_cast<size_t>(i)] = std::clamp<int64_t>(static_cast<int64_t>(f), 0, in - 1);
  }
  return at;
}

// Calls `visit(in, out, n)` for the `n` channels of each pixel.
template <typename Visit>
void forEachNearest(const ResizeState &s, const Resize &r, Visit &&visit) {
  std::vector<int64_t> rows = nearest(s, r.in.height, r.out.height);
  std::vector<int64_t> columns = nearest(s, r.in.width, r.out.width);
  int64_t to = 0;
  for (int64_t n = 0; n < r.out.batch; ++n)
    for (int64_t y : rows)
      for (int64_t x : columns) {
        visit(r.in.at(n, y, x), to, r.in.channels);
        to += r.in.channels;
      }
}

void runNearest(OpContext &ctx) {
  const Tensor in = ctx.input(0);
  Resize r;
  if (!readResize(ctx, r))
    return;
  Tensor *out = ctx.allocateOutput(0, in.dtype(), r.out.dims());
  if (!out || !out->count())
    return;
  visitMoved(in.dtype(), [&]<typename T>() {
    forEachNearest(ctx.state<ResizeState>(), r, [&](int64_t from, int64_t to, int64_t n) {
      std::copy_n(in.data<T>() + from, n, out->data<T>() + to);
    });
  });
}

// Inputs: the gradient and the size of the image.
template <typename T> struct NearestGrad {
  static void run(OpContext &ctx) {
    const Tensor gradient = ctx.input(0);
    Resize r;
    auto out = readImageShape(ctx, 0, "grads");
    auto size = out ? readImageSize(ctx, 1, "size") : std::nullopt;
    if (!size)
      return;
    r.in = r.out = *out;
    r.in.height = (*size)[0];
    r.in.width = (*size)[1];
    Tensor *sums = TREADLE_OR_RETURN(ctx.allocateOutput(0, gradient.dtype(), r.in.dims()));
    T *sum = sums->data<T>();
    std::fill_n(sum, sums->count(), T(0));
    if (gradient.count())
      forEachNearest(ctx.state<ResizeState>(), r, [&](int64_t from, int64_t to, int64_t n) {
        for (int64_t c = 0; c < n; ++c)
          sum[from + c] = wrappingSum(sum[from + c], gradient.data<T>()[to + c]);
      });
  }
};

// --- area ----------------------------------------------------------------------------------------

// The elements of a line that an element of the resized line covers, with their shares.
struct Coverage {
  int64_t first;
  std::vector<float> parts;
};

std::vector<Coverage> covers(float scale, int64_t out) {
  std::vector<Coverage> all;
  for (int64_t i = 0; i < out; ++i) {
    float begin = static_cast<float>(i) * scale, end = static_cast<float>(i + 1) * scale;
    Coverage cover{static_cast<int64_t>(std::floor(begin)), {}};
    // NOLINTNEXTLINE(bugprone-float-loop-counter): ends where k + 1 is no longer exact
    for (auto k = static_cast<float>(cover.first); k < end && k + 1 > k; k += 1)
      cover.parts.push_back(k < begin ? (k + 1 > end ? scale : k + 1 - begin)
                                      : (k + 1 > end ? end - k : 1.0f));
    if (cover.parts.empty()) // align_corners on a line of one element
      cover.parts.push_back(1);
    all.push_back(std::move(cover));
  }
  return all;
}

float sumUnder(const float *image, const ImageShape &in, const Coverage &rows,
               const Coverage &columns) {
  float sum = 0;
  for (size_t y = 0; y < rows.parts.size(); ++y) {
    int64_t row = std::min(rows.first + static_cast<int64_t>(y), in.height - 1) * in.rowSize();
    for (size_t x = 0; x < columns.parts.size(); ++x) {
      int64_t column = std::min(columns.first + static_cast<int64_t>(x), in.width - 1);
      sum += image[row + column * in.channels] * rows.parts[y] * columns.parts[x];
    }
  }
  return sum;
}

void runArea(OpContext &ctx) {
  const auto &s = ctx.state<ResizeState>();
  const Tensor in = ctx.input(0);
  Resize r;
  auto x = readResize(ctx, r) ? asFloats(ctx, in) : std::nullopt;
  Tensor *out = x ? ctx.allocateOutput(0, DType::Float32, r.out.dims()) : nullptr;
  if (!out || !out->count())
    return;
  float yScale = scaleOf(r.in.height, r.out.height, s.alignsCorners);
  float xScale = scaleOf(r.in.width, r.out.width, s.alignsCorners);
  std::vector<Coverage> rows = covers(yScale, r.out.height), columns = covers(xScale, r.out.width);
  const float *from = x->data<float>();
  auto *to = out->data<float>();
  float scale = 1 / ((yScale > 0 ? yScale : 1) * (xScale > 0 ? xScale : 1));
  double cost = static_cast<double>(r.out.rowSize()) * (1 + yScale) * (1 + xScale);
  ctx.parallelFor(r.out.batch * r.out.height, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t k = 0; k < r.out.rowSize(); ++k)
        to[i * r.out.rowSize() + k] =
            sumUnder(from + i / r.out.height * r.in.imageSize() + k % r.out.channels, r.in,
                     rows[static_cast<size_t>(i % r.out.height)],
                     columns[static_cast<size_t>(k / r.out.channels)]) *
            scale;
  });
}

// --- table ---------------------------------------------------------------------------------------

Expected<BoundKernel> bindState(const BindContext &node, KernelFn fn) {
  ResizeState s{node.attrs.getOr("align_corners", false),
                node.attrs.getOr("half_pixel_centers", false), node.outputTypes[0]};
  if (s.alignsCorners && s.usesPixelCentres)
    return Unexpected(
        invalidArgument("align_corners and half_pixel_centers are both true; only one may be"));
  return expensive(boundWith(fn, s));
}

template <KernelFn fn, typename Types> Expected<BoundKernel> bindResize(const BindContext &node) {
  if (!visitType(node.inputTypes[0], Types(), []<typename T>() {}))
    return unsupportedDType(node, node.inputTypes[0]);
  return bindState(node, fn);
}

template <KernelFn fn, typename Types>
Expected<BoundKernel> bindResizeGrad(const BindContext &node) {
  if (!visitType(node.outputTypes[0], Types(), []<typename T>() {}))
    return unsupportedDType(node, node.outputTypes[0]);
  return bindState(node, fn);
}

template <template <typename> class Kernel, typename Types>
Expected<BoundKernel> bindNearestGrad(const BindContext &node) {
  Expected<BoundKernel> bound = bindByType<Kernel, Types>(node);
  return bound ? bindState(node, bound->fn) : bound;
}

const KernelEntry imageResizeTable[] = {
    {"ResizeBilinear", bindResize<runResize<Bilinear>, RealTypes>},
    {"ResizeBilinearGrad", bindResizeGrad<runResizeGrad<Bilinear>, FloatTypes>},
    {"ResizeBicubic", bindResize<runResize<Bicubic>, RealTypes>},
    {"ResizeBicubicGrad", bindResizeGrad<runResizeGrad<Bicubic>, TypeList<float, double>>},
    {"ResizeNearestNeighbor", bindResize<runNearest, RealTypes>},
    {"ResizeNearestNeighborGrad", bindNearestGrad<NearestGrad, RealTypes>},
    {"ResizeArea", bindResize<runArea, RealTypes>},
};

} // namespace

std::span<const KernelEntry> imageResizeKernels() { return imageResizeTable; }

} // namespace treadle
