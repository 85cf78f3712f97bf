// Images scaled and translated by any amount with a choice of kernels, and the gradient.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/images/Image.h"

#include <numbers>
#include <string>
#include <vector>

namespace treadle {
namespace {

// --- the kernels: the weight of an element at distance `x` ---------------------------------------

template <int radius> float lanczos(float x) {
  constexpr auto pi = std::numbers::pi_v<float>;
  if (x > radius)
    return 0;
  if (x <= 1e-3f)
    return 1;
  return radius * std::sin(pi * x) * std::sin(pi * x / radius) / (pi * pi * x * x);
}

float gaussian(float x) { return x >= 1.5f ? 0 : std::exp(-x * x / (2 * 0.5f * 0.5f)); }
float box(float x) { return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f; }
float triangle(float x) { return x < 1 ? 1 - x : 0; }

float keysCubic(float x) {
  if (x >= 2)
    return 0;
  return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2 : (1.5f * x - 2.5f) * x * x + 1;
}

float mitchellCubic(float x) {
  if (x >= 2)
    return 0;
  return x >= 1 ? ((-7.0f / 18 * x + 2) * x - 10.0f / 3) * x + 16.0f / 9
                : (7.0f / 6 * x - 2) * x * x + 8.0f / 9;
}

struct Filter {
  const char *name;
  float radius;
  float (*weight)(float);
};

const Filter filters[] = {
    {"lanczos1", 1, lanczos<1>}, {"lanczos3", 3, lanczos<3>},
    {"lanczos5", 5, lanczos<5>}, {"gaussian", 1.5f, gaussian},
    {"box", 0.5f, box},          {"triangle", 1, triangle},
    {"keyscubic", 2, keysCubic}, {"mitchellcubic", 2, mitchellCubic},
};

struct TranslateState {
  const Filter *filter;
  bool antialiases;
};

// --- spans: the elements of a line that contribute to the result ---------------------------------

struct Span {
  int64_t first = 0;
  std::vector<float> weights = {}; // empty: nothing of the image contributes
};

Span spanAt(const TranslateState &s, float centre, float stretch, int64_t size) {
  auto end = static_cast<float>(size);
  if (!(centre >= 0 && centre <= end))
    return {};
  float reach = s.filter->radius * stretch, last = end - 1;
  Span span{static_cast<int64_t>(std::clamp(std::ceil(centre - reach - 0.5f), 0.0f, last))};
  auto to = static_cast<int64_t>(std::clamp(std::floor(centre + reach - 0.5f), 0.0f, last));
  to = std::min(to, size - 1);
  float sum = 0;
  for (int64_t i = span.first; i <= to; ++i) {
    span.weights.push_back(
        s.filter->weight(std::abs((static_cast<float>(i) + 0.5f - centre) / stretch)));
    sum += span.weights.back();
  }
  if (!(std::abs(sum) >= 1000 * std::numeric_limits<float>::min()))
    return {};
  for (float &w : span.weights)
    w /= sum;
  return span;
}

std::vector<Span> spans(const TranslateState &s, int64_t in, int64_t out, float scale,
                        float translation) {
  float inverse = 1 / scale, offset = -inverse * translation;
  float stretch = s.antialiases ? std::max(inverse, 1.0f) : 1.0f;
  std::vector<Span> all;
  for (int64_t i = 0; i < out; ++i)
    all.push_back(spanAt(s, (static_cast<float>(i) + 0.5f) * inverse + offset, stretch, in));
  return all;
}

struct Placement {
  std::vector<Span> rows, columns;
};

std::optional<std::array<float, 2>> readPair(OpContext &ctx, int i, const char *what) {
  const Tensor &t = ctx.input(i);
  if (t.rank() == 1 && t.count() == 2)
    return std::array<float, 2>{t.data<float>()[0], t.data<float>()[1]};
  ctx.fail(invalidArgument(what, " must be a vector of two numbers, but has shape ",
                           dimsText(t.dims())));
  return std::nullopt;
}

// Reads inputs 2 and 3: scale and translation, for rows and columns.
bool place(OpContext &ctx, const ImageShape &in, const ImageShape &out, Placement &placement) {
  auto scale = readPair(ctx, 2, "scale");
  auto translation = scale ? readPair(ctx, 3, "translation") : std::nullopt;
  if (!translation)
    return false;
  if (!((*scale)[0] > 0 && (*scale)[1] > 0)) {
    ctx.fail(invalidArgument("scale must be greater than zero, but is [", (*scale)[0], ",",
                             (*scale)[1], "]"));
    return false;
  }
  const auto &s = ctx.state<TranslateState>();
  placement.rows = spans(s, in.height, out.height, (*scale)[0], (*translation)[0]);
  placement.columns = spans(s, in.width, out.width, (*scale)[1], (*translation)[1]);
  return true;
}

// --- the ops -------------------------------------------------------------------------------------

// Resamples the columns of `lines` lines of `in` pixels, to lines of columns.size() pixels.
void gatherColumns(const std::vector<Span> &columns, const float *from, int64_t lines, int64_t in,
                   int64_t channels, float *to) {
  for (int64_t line = 0; line < lines; ++line, from += in * channels)
    for (const Span &span : columns)
      for (int64_t c = 0; c < channels; ++c, ++to) {
        *to = 0;
        for (size_t k = 0; k < span.weights.size(); ++k)
          *to += span.weights[k] * from[(span.first + static_cast<int64_t>(k)) * channels + c];
      }
}

// Resamples one image: a row of the result is a weighted sum of rows.
void gatherImage(const Placement &p, const float *from, const ImageShape &in, float *rows,
                 const ImageShape &out, float *to) {
  for (const Span &span : p.rows) {
    std::fill_n(rows, in.rowSize(), 0.0f);
    for (size_t k = 0; k < span.weights.size(); ++k) {
      const float *row = from + (span.first + static_cast<int64_t>(k)) * in.rowSize();
      for (int64_t i = 0; i < in.rowSize(); ++i)
        rows[i] += span.weights[k] * row[i];
    }
    gatherColumns(p.columns, rows, 1, in.width, in.channels, to);
    to += out.rowSize();
  }
}

// Inputs: the images, the size of the result, scale and translation.
void runForward(OpContext &ctx) {
  const Tensor images = ctx.input(0);
  auto in = readImageShape(ctx, 0, "images");
  auto size = in ? readImageSize(ctx, 1, "size") : std::nullopt;
  if (!size)
    return;
  if (!in->height || !in->width || !in->channels)
    return ctx.fail(invalidArgument("the image must have pixels and channels, but has shape ",
                                    dimsText(in->dims())));
  ImageShape out{in->batch, (*size)[0], (*size)[1], in->channels};
  Placement p;
  auto x = asFloats(ctx, images);
  Tensor *result = x ? ctx.allocateOutput(0, DType::Float32, out.dims()) : nullptr;
  if (!result || !place(ctx, *in, out, p))
    return;
  ctx.parallelFor(in->batch, static_cast<double>(out.imageSize()) * 8,
                  [&](int64_t begin, int64_t end) {
                    std::vector<float> row(static_cast<size_t>(in->rowSize()));
                    for (int64_t n = begin; n < end; ++n)
                      gatherImage(p, x->data<float>() + n * in->imageSize(), *in, row.data(), out,
                                  result->data<float>() + n * out.imageSize());
                  });
}

// Inputs: the gradient, the images, scale and translation.
void runGrad(OpContext &ctx) {
  const Tensor gradient = ctx.input(0);
  auto out = readImageShape(ctx, 0, "grads"), in = readImageShape(ctx, 1, "original_image");
  if (!out || !in)
    return;
  if (out->batch != in->batch || out->channels != in->channels || !in->height || !in->width)
    return ctx.fail(invalidArgument("the gradient has shape ", dimsText(out->dims()),
                                    ", which does not match images of shape ",
                                    dimsText(in->dims())));
  Placement p;
  Tensor *sums = ctx.allocateOutput(0, DType::Float32, in->dims());
  if (!sums || !place(ctx, *in, *out, p))
    return;
  std::fill_n(sums->data<float>(), sums->count(), 0.0f);
  const auto *g = gradient.data<float>();
  for (int64_t n = 0; n < out->batch; ++n)
    for (const Span &row : p.rows)
      for (const Span &column : p.columns)
        for (int64_t c = 0; c < out->channels; ++c, ++g)
          for (size_t y = 0; y < row.weights.size(); ++y)
            for (size_t x = 0; x < column.weights.size(); ++x)
              sums->data<float>()[in->at(n, row.first + static_cast<int64_t>(y),
                                         column.first + static_cast<int64_t>(x)) +
                                  c] += *g * row.weights[y] * column.weights[x];
}

template <KernelFn fn> Expected<BoundKernel> bindTranslate(const BindContext &node) {
  std::string name = node.attrs.getOr("kernel_type", std::string("lanczos3"));
  const Filter *filter =
      std::ranges::find_if(filters, [&](const Filter &f) { return f.name == name; });
  if (filter == std::end(filters))
    return Unexpected(invalidArgument("kernel_type is '", name,
                                      "', expected lanczos1, lanczos3, lanczos5, gaussian, box, "
                                      "triangle, keyscubic or mitchellcubic"));
  if (!visitType(node.inputTypes[0], RealTypes(), []<typename T>() {}))
    return unsupportedDType(node, node.inputTypes[0]);
  return boundWith(fn, TranslateState{filter, node.attrs.getOr("antialias", true)});
}

const KernelEntry scaleAndTranslateTable[] = {
    {"ScaleAndTranslate", bindTranslate<runForward>},
    {"ScaleAndTranslateGrad", bindTranslate<runGrad>},
};

} // namespace

std::span<const KernelEntry> scaleAndTranslateKernels() { return scaleAndTranslateTable; }

} // namespace treadle
