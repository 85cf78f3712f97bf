// Normalization across channels (LRN) and over batches (FusedBatchNorm, and _FusedBatchNormEx with
// an addend and an activation), with their gradients.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Window.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/products/Epilogue.h"

#include <cmath>
#include <vector>

namespace treadle {
namespace {

// --- LRN: x / (bias + alpha * sum of the squares of the channels around) ^ beta ------------------

struct LrnState {
  int64_t radius;
  float bias, alpha, beta;
};

struct Neighbours {
  int64_t begin, end;
  Neighbours(int64_t channel, int64_t channels, int64_t radius)
      : begin(channel > radius ? channel - radius : 0),
        end(channels - channel > radius ? channel + radius + 1 : channels) {}
};

template <typename T> float normAt(const LrnState &s, const T *x, const Neighbours &around) {
  float sum = 0;
  for (int64_t k = around.begin; k < around.end; ++k)
    sum += static_cast<float>(x[k]) * static_cast<float>(x[k]);
  return s.bias + s.alpha * sum;
}

bool checkImage(OpContext &ctx, const Tensor &t) {
  if (t.rank() != 4)
    ctx.fail(invalidArgument("the input must have rank 4, but has shape ", dimsText(t.dims())));
  return !ctx.hasFailed();
}

template <typename T> struct LrnKernel {
  static void run(OpContext &ctx) {
    const LrnState &s = ctx.state<LrnState>();
    const Tensor in = ctx.input(0);
    if (!checkImage(ctx, in))
      return;
    Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
    if (!out || !out->count())
      return;
    int64_t channels = in.dim(3);
    for (int64_t at = 0; at < in.count(); at += channels)
      for (int64_t c = 0; c < channels; ++c) {
        const T *x = in.data<T>() + at;
        float norm = normAt(s, x, Neighbours(c, channels, s.radius));
        out->data<T>()[at + c] = T(static_cast<float>(x[c]) * std::pow(norm, -s.beta));
      }
  }
};

// Inputs: the gradient of the result, the input, the result.
template <typename T> struct LrnGradKernel {
  static void addTo(const LrnState &s, int64_t channels, const T *g, const T *x, const T *y,
                    float *sums) {
    for (int64_t j = 0; j < channels; ++j) {
      Neighbours around(j, channels, s.radius);
      float norm = normAt(s, x, around);
      float factor = -2 * s.alpha * s.beta * static_cast<float>(y[j]) / norm;
      for (int64_t k = around.begin; k < around.end; ++k) {
        float slope = factor * static_cast<float>(x[k]);
        if (k == j)
          slope += std::pow(norm, -s.beta);
        sums[k] += slope * static_cast<float>(g[j]);
      }
    }
  }

  static void run(OpContext &ctx) {
    const Tensor g = ctx.input(0), x = ctx.input(1), y = ctx.input(2);
    if (!checkImage(ctx, x))
      return;
    for (const Tensor *t : {&g, &y})
      if (!std::ranges::equal(t->dims(), x.dims()))
        return ctx.fail(invalidArgument(
            "gradients, input and result must have one shape, but have ", dimsText(g.dims()), ", ",
            dimsText(x.dims()), " and ", dimsText(y.dims())));
    Tensor *out = ctx.allocateOutput(0, x.dtype(), x.dims());
    if (!out || !out->count())
      return;
    int64_t channels = x.dim(3);
    std::vector<float> sums(static_cast<size_t>(channels));
    for (int64_t at = 0; at < x.count(); at += channels) {
      std::fill(sums.begin(), sums.end(), 0.0f);
      addTo(ctx.state<LrnState>(), channels, g.data<T>() + at, x.data<T>() + at, y.data<T>() + at,
            sums.data());
      std::transform(sums.begin(), sums.end(), out->data<T>() + at, [](float v) { return T(v); });
    }
  }
};

template <template <typename> class Kernel> Expected<BoundKernel> bindLrn(const BindContext &node) {
  auto radius = node.attrs.getOr<int64_t>("depth_radius", 5);
  if (radius < 0)
    return Unexpected(invalidArgument("depth_radius is ", radius, ", expected 0 or more"));
  return withState(bindByType<Kernel, TypeList<float, Half, BFloat16>>(node),
                   LrnState{radius, node.attrs.getOr<float>("bias", 1),
                            node.attrs.getOr<float>("alpha", 1),
                            node.attrs.getOr<float>("beta", 0.5)});
}

// --- FusedBatchNorm ------------------------------------------------------------------------------

struct BatchNormState {
  // averageFactor: weight of the batch in the running mean and variance
  float epsilon, averageFactor;
  bool isTraining, channelsFirst;
  // For _FusedBatchNormEx.
  bool hasSummand = false;
  Activation activation = Activation::None;
};

// The input as channels-last data [positions, channels], and the statistics as floats.
struct BatchNorm {
  int64_t positions, channels;
  std::vector<double> mean, variance;
};

template <typename T> BatchNorm statisticsOf(const Tensor &x, int64_t channels) {
  BatchNorm n{channels ? x.count() / channels : 0, channels, std::vector<double>(channels),
              std::vector<double>(channels)};
  const T *data = x.data<T>();
  auto rest = static_cast<double>(n.positions);
  for (int64_t i = 0; i < x.count(); ++i)
    n.mean[i % channels] += static_cast<double>(data[i]);
  for (double &m : n.mean)
    m /= rest;
  for (int64_t i = 0; i < x.count(); ++i) {
    double d = static_cast<double>(data[i]) - n.mean[i % channels];
    n.variance[i % channels] += d * d;
  }
  for (double &v : n.variance)
    v /= rest;
  return n;
}

bool readNormImage(OpContext &ctx, const Tensor &x, ImageDims &dims) {
  dims = {.spatial = x.rank() - 2, .channelsFirst = ctx.state<BatchNormState>().channelsFirst};
  if ((x.rank() != 4 && x.rank() != 5) || !dims.read(x.dims())) {
    ctx.fail(
        invalidArgument("the input must have rank 4 or 5, but has shape ", dimsText(x.dims())));
    return false;
  }
  return true;
}

bool checkChannels(OpContext &ctx, int i, int64_t channels) {
  const Tensor &t = ctx.input(i);
  if (t.rank() == 1 && t.dim(0) == channels)
    return true;
  ctx.fail(invalidArgument("input ", i, " must be a vector of ", channels,
                           " elements, one per channel, but has shape ", dimsText(t.dims())));
  return false;
}

// Sets outputs 1 to 4 (and 5 of V3): the running statistics, and values saved for the gradient op.
void setStatistics(OpContext &ctx, const BatchNormState &s, const BatchNorm &n, const Tensor &mean,
                   const Tensor &variance) {
  Tensor *out[4];
  for (int i = 0; i < 4; ++i)
    out[i] = ctx.allocateOutput(i + 1, DType::Float32, {n.channels});
  if (ctx.hasFailed())
    return;
  double unbiased = static_cast<double>(n.positions) / std::max<int64_t>(n.positions - 1, 1);
  bool hasRunning = s.isTraining && s.averageFactor != 1;
  for (int64_t c = 0; c < n.channels; ++c) {
    double m = n.mean[c], v = n.variance[c], runningV = s.isTraining ? v * unbiased : v;
    double keep = 1 - s.averageFactor;
    out[2]->data<float>()[c] = static_cast<float>(m);
    out[3]->data<float>()[c] = static_cast<float>(v);
    out[0]->data<float>()[c] =
        static_cast<float>(hasRunning ? keep * mean.data<float>()[c] + s.averageFactor * m : m);
    out[1]->data<float>()[c] = static_cast<float>(
        hasRunning ? keep * variance.data<float>()[c] + s.averageFactor * runningV : runningV);
  }
  if (ctx.numOutputs() > 5)
    ctx.allocateOutput(5, DType::Float32, {0});
}

// Returns an addend of x's shape in channels-last layout; an empty tensor if the node has none.
std::optional<Tensor> readSummand(OpContext &ctx, const Tensor &x, const ImageDims &dims) {
  if (!ctx.state<BatchNormState>().hasSummand)
    return Tensor();
  if (!std::ranges::equal(ctx.input(5).dims(), x.dims())) {
    ctx.fail(invalidArgument("side_input has shape ", dimsText(ctx.input(5).dims()),
                             ", but the input has ", dimsText(x.dims())));
    return std::nullopt;
  }
  return withChannelsLast(ctx, ctx.input(5), dims);
}

template <typename T> struct BatchNormKernel {
  static void normalise(const BatchNormState &s, const BatchNorm &n, const Tensor &x,
                        const float *scale, const float *offset, const Tensor &summand,
                        Tensor &out) {
    auto channels = static_cast<size_t>(n.channels);
    std::vector<double> factor(channels);
    for (size_t c = 0; c < channels; ++c)
      factor[c] = scale[c] / std::sqrt(n.variance[c] + s.epsilon);
    const double *mean = n.mean.data(), *factors = factor.data();
    for (int64_t at = 0; at < x.count(); at += n.channels) {
      const T *in = x.data<T>() + at;
      T *result = out.data<T>() + at;
      TREADLE_VECTORISE
      for (int64_t c = 0; c < n.channels; ++c)
        result[c] =
            T(static_cast<float>((static_cast<double>(in[c]) - mean[c]) * factors[c] + offset[c]));
    }
    if constexpr (std::is_same_v<T, float>) {
      for (int64_t i = 0; summand && i < x.count(); ++i)
        out.data<float>()[i] += summand.data<float>()[i];
      activate(s.activation, 0, out.data<float>(), x.count());
    }
  }

  static void run(OpContext &ctx) {
    const BatchNormState &s = ctx.state<BatchNormState>();
    const Tensor in = ctx.input(0), scale = ctx.input(1), offset = ctx.input(2);
    const Tensor mean = ctx.input(3), variance = ctx.input(4);
    ImageDims dims;
    if (!readNormImage(ctx, in, dims) || !checkChannels(ctx, 1, dims.channels) ||
        !checkChannels(ctx, 2, dims.channels))
      return;
    bool needsStatistics = !s.isTraining || s.averageFactor != 1;
    if (needsStatistics &&
        (!checkChannels(ctx, 3, dims.channels) || !checkChannels(ctx, 4, dims.channels)))
      return;
    auto x = withChannelsLast(ctx, in, dims);
    auto summand = readSummand(ctx, in, dims);
    ImageDims last = dims;
    last.channelsFirst = false;
    auto out = ctx.check(Tensor::make(in.dtype(), last.tensorDims()));
    if (!x || !summand || !out)
      return;
    BatchNorm n{x->count() / std::max<int64_t>(dims.channels, 1), dims.channels, {}, {}};
    if (s.isTraining) {
      n = statisticsOf<T>(*x, dims.channels);
    } else {
      n.mean.assign(mean.data<float>(), mean.data<float>() + dims.channels);
      n.variance.assign(variance.data<float>(), variance.data<float>() + dims.channels);
    }
    normalise(s, n, *x, scale.data<float>(), offset.data<float>(), *summand, *out);
    setStatistics(ctx, s, n, mean, variance);
    setImageOutput(ctx, 0, std::move(*out), dims);
  }
};

template <typename T> struct BatchNormGradKernel {
  // Inputs: the gradient of the result, the input, scale, mean and variance (of the batch in
  // training).
  static void run(OpContext &ctx) {
    const BatchNormState &s = ctx.state<BatchNormState>();
    const Tensor gradient = ctx.input(0), in = ctx.input(1), scale = ctx.input(2);
    const Tensor mean = ctx.input(3), variance = ctx.input(4);
    ImageDims dims;
    if (!readNormImage(ctx, in, dims))
      return;
    for (int i = 2; i < 5; ++i)
      if (!checkChannels(ctx, i, dims.channels))
        return;
    if (!std::ranges::equal(gradient.dims(), in.dims()))
      return ctx.fail(invalidArgument("the gradient's shape ", dimsText(gradient.dims()),
                                      " differs from the input's ", dimsText(in.dims())));
    auto g = withChannelsLast(ctx, gradient, dims), x = withChannelsLast(ctx, in, dims);
    ImageDims last = dims;
    last.channelsFirst = false;
    auto out = ctx.check(Tensor::make(in.dtype(), last.tensorDims()));
    if (!g || !x || !out)
      return;
    const T *gData = g->template data<T>(), *xData = x->template data<T>();
    auto channels = static_cast<size_t>(dims.channels);
    std::vector<double> sumG(channels), sumGX(channels), inverse(channels);
    for (size_t c = 0; c < channels; ++c)
      inverse[c] = 1 / std::sqrt(static_cast<double>(variance.data<float>()[c]) + s.epsilon);
    auto centred = [&](int64_t i, size_t c) {
      return (static_cast<double>(xData[i]) - mean.data<float>()[c]) * inverse[c];
    };
    for (int64_t i = 0; i < x->count(); ++i) {
      size_t c = static_cast<size_t>(i) % channels;
      sumG[c] += static_cast<double>(gData[i]);
      sumGX[c] += static_cast<double>(gData[i]) * centred(i, c);
    }
    double rest = channels ? static_cast<double>(x->count()) / static_cast<double>(channels) : 1;
    for (int64_t i = 0; i < x->count(); ++i) {
      size_t c = static_cast<size_t>(i) % channels;
      double value = static_cast<double>(gData[i]);
      if (s.isTraining)
        value -= (sumG[c] + centred(i, c) * sumGX[c]) / rest;
      out->template data<T>()[i] =
          T(static_cast<float>(value * scale.data<float>()[c] * inverse[c]));
    }
    Tensor *scaleGradient = ctx.allocateOutput(1, DType::Float32, {dims.channels});
    Tensor *offsetGradient = ctx.allocateOutput(2, DType::Float32, {dims.channels});
    if (!scaleGradient || !offsetGradient || !ctx.allocateOutput(3, DType::Float32, {0}) ||
        !ctx.allocateOutput(4, DType::Float32, {0}))
      return;
    std::ranges::copy(sumGX, scaleGradient->data<float>());
    std::ranges::copy(sumG, offsetGradient->data<float>());
    setImageOutput(ctx, 0, std::move(*out), dims);
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindBatchNorm(const BindContext &node) {
  std::string format = node.attrs.getOr("data_format", std::string("NHWC"));
  return withState(bindByType<Kernel, TypeList<float, Half, BFloat16>>(node),
                   BatchNormState{node.attrs.getOr<float>("epsilon", 0.0001f),
                                  node.attrs.getOr<float>("exponential_avg_factor", 1),
                                  node.attrs.getOr<bool>("is_training", true),
                                  format.starts_with("NC")});
}

Expected<BoundKernel> bindBatchNormEx(const BindContext &node) {
  if (node.outputTypes[0] != DType::Float32)
    return unsupportedDType(node, node.outputTypes[0]);
  Expected<BoundKernel> bound = bindBatchNorm<BatchNormKernel>(node);
  std::string mode = node.attrs.getOr("activation_mode", std::string("Identity"));
  std::optional<Activation> activation = findActivation(mode);
  int64_t summands = node.attrs.getOr<int64_t>("num_side_inputs", 0);
  if (!activation || summands < 0 || summands > 1)
    return Unexpected(unimplemented("op '", node.op, "' does not support activation_mode '", mode,
                                    "' with ", summands, " side inputs"));
  if (!bound)
    return bound;
  BatchNormState s = *static_cast<const BatchNormState *>(bound->state.get());
  s.hasSummand = summands == 1;
  s.activation = *activation;
  bound->state = std::make_shared<const BatchNormState>(s);
  return bound;
}

const KernelEntry normalizationTable[] = {
    {"LRN", bindLrn<LrnKernel>},
    {"LRNGrad", bindLrn<LrnGradKernel>},
    {"FusedBatchNorm", bindBatchNorm<BatchNormKernel>},
    {"FusedBatchNormV2", bindBatchNorm<BatchNormKernel>},
    {"FusedBatchNormV3", bindBatchNorm<BatchNormKernel>},
    {"_FusedBatchNormEx", bindBatchNormEx},
    {"FusedBatchNormGrad", bindBatchNorm<BatchNormGradKernel>},
    {"FusedBatchNormGradV2", bindBatchNorm<BatchNormGradKernel>},
    {"FusedBatchNormGradV3", bindBatchNorm<BatchNormGradKernel>},
};

} // namespace

std::span<const KernelEntry> normalizationKernels() { return normalizationTable; }

} // namespace treadle
