// Samples of gamma, Poisson and binomial distributions with tensor parameters. Every sample has a
// part of the stream of its own, so that it doesn't depend on how many numbers others took.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/elementwise/Conversion.h"
#include "treadle/kernels/random/RandomNumbers.h"
#include "treadle/kernels/random/RandomStream.h"

#include <cmath>
#include <vector>

namespace treadle {
namespace {

using Uniforms = ReversedSampler<double, UniformNumbers>;
using Normals = ReversedSampler<double, NormalNumbers>;

// --- samplers: `draw` returns one sample ---------------------------------------------------------

// Marsaglia and Tsang, "A simple method for generating gamma variables", TOMS 26 (2000).
struct GammaSampler {
  static constexpr uint64_t blocks = 256;
  explicit GammaSampler(double alpha)
      : alpha(alpha), d(alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3)), c(1.0 / 3 / std::sqrt(d)) {}

  double draw(Philox own) const {
    Uniforms uniforms(own);
    if (alpha == 1) // an exponential distribution
      return -std::log1p(-uniforms.next());
    Normals normals(own);
    for (;;) {
      double x = normals.next(), v = 1 + c * x;
      if (v <= 0)
        continue;
      v = v * v * v;
      double u = uniforms.next();
      if (u >= 1 - 0.0331 * (x * x) * (x * x) && // squeeze test, without logarithms
          std::log(u) >= 0.5 * x * x + d * (1 - v + std::log(v)))
        continue;
      return alpha < 1 ? d * v * std::pow(uniforms.next(), 1 / alpha) : d * v;
    }
  }

  double alpha, d, c;
};

// Knuth's product of uniform numbers for small rates, otherwise Hörmann's transformed rejection
// ("The transformed rejection method for generating Poisson random variables", 1993).
struct PoissonSampler {
  static constexpr uint64_t blocks = 256;
  explicit PoissonSampler(double rate)
      : rate(rate), logRate(std::log(rate)), b(0.931 + 2.53 * std::sqrt(rate)),
        a(-0.059 + 0.02483 * b), inverseAlpha(1.1239 + 1.1328 / (b - 3.4)) {}

  double draw(Philox own) const {
    if (!std::isfinite(rate) || rate < 0)
      return std::numeric_limits<double>::quiet_NaN();
    Uniforms uniforms(own);
    return rate < 10 ? product(uniforms) : rejection(uniforms);
  }

  double product(Uniforms &uniforms) const {
    double least = std::exp(-rate), left = uniforms.next();
    int count = 0;
    for (; left > least; ++count)
      left *= uniforms.next();
    return count;
  }

  double rejection(Uniforms &uniforms) const {
    for (;;) {
      double u = uniforms.next() - 0.5, v = uniforms.next();
      double shifted = 0.5 - std::abs(u);
      double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
      if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
        return k;
      if (k < 0 || (shifted < 0.013 && v > shifted))
        continue;
      double s = std::log(v * inverseAlpha / (a / (shifted * shifted) + b));
      if (s <= -rate + k * logRate - std::lgamma(k + 1))
        return k;
    }
  }

  double rate, logRate, b, a, inverseAlpha;
};

// Sums of geometric numbers for few expected successes, otherwise Hörmann's transformed rejection
// ("The generation of binomial random variates", 1993).
struct BinomialSampler {
  BinomialSampler(double count, double p, bool isMirrored, bool hasMany)
      : count(count), p(p), isMirrored(isMirrored), hasMany(hasMany), blocks(hasMany ? 256 : 42) {}

  double draw(Philox own) const {
    if (count <= 0 || p == 0)
      return isMirrored ? count : 0;
    if (!std::isfinite(count * p))
      return std::numeric_limits<double>::quiet_NaN();
    Uniforms uniforms(own);
    double k = hasMany ? rejection(uniforms) : inversion(uniforms);
    return isMirrored ? count - k : k;
  }

  double inversion(Uniforms &uniforms) const {
    double sum = 0;
    int successes = 0;
    for (;; ++successes) {
      sum += std::ceil(std::log(uniforms.next()) / std::log1p(-p));
      if (!(sum <= count))
        return successes;
    }
  }

  // Returns the error of Stirling's approximation of log(k!).
  static double stirlingTail(double k) {
    static constexpr double tails[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                       0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                       0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                       0.00833056343336287};
    if (k <= 9)
      return tails[static_cast<int>(k)];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
  }

  double rejection(Uniforms &uniforms) const {
    double deviation = std::sqrt(count * p * (1 - p)), b = 1.15 + 2.53 * deviation;
    double a = -0.0873 + 0.0248 * b + 0.01 * p, c = count * p + 0.5;
    double boxed = 0.92 - 4.2 / b, ratio = p / (1 - p);
    double alpha = (2.83 + 5.1 / b) * deviation, m = std::floor((count + 1) * p);
    for (;;) {
      double u = uniforms.next(), v = uniforms.next();
      u -= 0.5;
      double shifted = 0.5 - std::abs(u), k = std::floor((2 * a / shifted + b) * u + c);
      if (shifted >= 0.07 && v <= boxed)
        return k;
      if (k < 0 || k > count)
        continue;
      v = std::log(v * alpha / (a / (shifted * shifted) + b));
      double bound = (m + 0.5) * std::log((m + 1) / (ratio * (count - m + 1))) +
                     (count + 1) * std::log((count - m + 1) / (count - k + 1)) +
                     (k + 0.5) * std::log(ratio * (count - k + 1) / (k + 1)) + stirlingTail(m) +
                     stirlingTail(count - m) - stirlingTail(k) - stirlingTail(count - k);
      if (v <= bound)
        return k;
    }
  }

  double count, p;
  bool isMirrored, hasMany;
  uint64_t blocks;
};

// --- filling: the samples of each distribution in stream order -----------------------------------

using SampleTypes = TypeList<float, double, Half, BFloat16, int32_t, int64_t>;

// Fills an output [sample, distribution].
template <typename Sampler>
void fillSamples(OpContext &ctx, const Philox &stream, const std::vector<Sampler> &samplers,
                 Tensor &out) {
  auto number = static_cast<int64_t>(samplers.size());
  int64_t samples = number ? out.count() / number : 0;
  visitType(out.dtype(), SampleTypes(), [&]<typename T>() {
    T *data = out.data<T>();
    ctx.parallelFor(out.count(), 150, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Sampler &sampler = samplers[static_cast<size_t>(i / samples)];
        Philox own = stream;
        own.skip(static_cast<uint64_t>(i) * sampler.blocks);
        data[i % samples * number + i / samples] = convert<T>(sampler.draw(own));
      }
    });
  });
}

template <typename Sampler> std::vector<Sampler> samplersOf(const Tensor &parameters) {
  std::vector<Sampler> samplers;
  visitType(parameters.dtype(), SampleTypes(), [&]<typename T>() {
    for (T value : parameters.values<T>())
      samplers.emplace_back(static_cast<double>(value));
  });
  return samplers;
}

// --- gamma and Poisson ---------------------------------------------------------------------------

// Allocates output 0 for this number of samples of each element's distribution; returns null after
// failing the op, or if it is empty.
Tensor *allocateSamples(OpContext &ctx, const Tensor &parameters, DType dtype) {
  const Tensor &shape = ctx.input(0);
  if (shape.rank() != 1) {
    ctx.fail(invalidArgument("shape must be a vector, but it is ", tensorTypeText(shape)));
    return nullptr;
  }
  DimVector dims(readIndices(shape));
  for (int64_t d : parameters.dims())
    dims.push(d);
  Tensor *out = ctx.allocateOutput(0, dtype, dims);
  return out && out->count() ? out : nullptr;
}

struct SampleState {
  DType dtype;
  NodeStream stream;
};

template <typename Sampler> void runSeeded(OpContext &ctx) {
  const auto &s = ctx.state<SampleState>();
  const Tensor parameters = ctx.input(1);
  if (Tensor *out = allocateSamples(ctx, parameters, s.dtype))
    fillSamples(ctx, s.stream.reserve(ctx, static_cast<uint64_t>(out->count()) * blocksPerElement),
                samplersOf<Sampler>(parameters), *out);
}

// Whether the output's shape ends with that of the parameters; fails the op otherwise.
bool endsWith(OpContext &ctx, const Tensor &out, Dims parameters) {
  auto rank = parameters.size();
  if (out.dims().size() >= rank && std::ranges::equal(out.dims().last(rank), parameters))
    return true;
  ctx.fail(invalidArgument(
      "shape is ", dimsText(out.dims()),
      ", expected one that ends with that of the parameters: ", dimsText(parameters)));
  return false;
}

enum class SeedSource { Seed, Key };

// Inputs: shape, seed (or key, counter, algorithm), parameters.
template <typename Sampler, SeedSource from> void runStateless(OpContext &ctx) {
  const Tensor parameters = ctx.input(from == SeedSource::Seed ? 2 : 4);
  Philox stream;
  if (!(from == SeedSource::Seed ? readSeed(ctx, 1, stream) : readKeyCounter(ctx, 1, stream)))
    return;
  Tensor *out = allocateRandomOutput(ctx, 0, ctx.state<SampleState>().dtype);
  if (!out || !out->count() || !endsWith(ctx, *out, parameters.dims()))
    return;
  fillSamples(ctx, stream, samplersOf<Sampler>(parameters), *out);
}

template <KernelFn fn, typename Types> Expected<BoundKernel> bindSamples(const BindContext &node) {
  for (DType dtype : {node.inputTypes.back(), node.outputTypes[0]})
    if (!visitType(dtype, Types(), []<typename>() {}))
      return unsupportedDType(node, dtype);
  return boundWith(fn, SampleState{node.outputTypes[0], NodeStream::of(node)});
}

// --- binomial ------------------------------------------------------------------------------------

// Decides special cases in the parameters' own type.
template <typename T> BinomialSampler binomialOf(T count, T p) {
  auto wide = static_cast<double>(count);
  if (wide <= 0 || p <= T(0))
    return {0, 0, false, false};
  if (p >= T(1))
    return {wide, 0, true, false};
  bool isMirrored = p > T(0.5);
  T own = isMirrored ? T(1) - p : p;
  return {wide, static_cast<double>(own), isMirrored, count * own >= T(10)};
}

std::vector<BinomialSampler> binomialSamplers(const Tensor &counts, const Tensor &chances,
                                              const BroadcastPlan<2> &plan) {
  std::vector<BinomialSampler> samplers;
  visitType(counts.dtype(), FloatTypes(), [&]<typename T>() {
    int inner = plan.loops - 1;
    forEachRow<2>(plan, [&](const std::array<int64_t, 2> &at, int64_t) {
      for (int64_t i = 0; i < plan.size[inner]; ++i)
        samplers.push_back(binomialOf(counts.data<T>()[at[0] + i * plan.stride[0][inner]],
                                      chances.data<T>()[at[1] + i * plan.stride[1][inner]]));
    });
  });
  return samplers;
}

// This op supports only Philox, not even the automatic choice of an algorithm.
bool advanceBinomial(OpContext &ctx, int64_t distributions, int64_t count, Philox &stream) {
  const Tensor &algorithm = ctx.input(1);
  if (!algorithm.isScalar() || indexAt(algorithm, 0) != 1) {
    ctx.fail(invalidArgument("algorithm must be 1 (Philox)"));
    return false;
  }
  int64_t samples = distributions ? count / distributions : 0;
  auto elements = static_cast<uint64_t>(distributions * 2 * 100 * (samples + 3) / 4);
  return advanceState(ctx, 0, elements * blocksPerElement, stream);
}

// Inputs: shape and seed, or state, algorithm and shape; then counts and probabilities.
template <bool isStateful> void runBinomial(OpContext &ctx) {
  constexpr int shapeInput = isStateful ? 2 : 0, first = isStateful ? 3 : 2;
  const Tensor counts = ctx.input(first), chances = ctx.input(first + 1);
  BroadcastPlan<2> plan;
  if (!planBroadcast<2>({counts.dims(), chances.dims()}, plan))
    return ctx.fail(incompatibleShapes(counts.dims(), chances.dims()));
  Philox stream;
  if (!isStateful && !readSeed(ctx, 1, stream))
    return;
  Tensor *out = allocateRandomOutput(ctx, shapeInput, ctx.state<SampleState>().dtype);
  if (!out || !endsWith(ctx, *out, plan.resultDims()))
    return;
  if (isStateful && !advanceBinomial(ctx, plan.count, out->count(), stream))
    return;
  if (out->count())
    fillSamples(ctx, stream, binomialSamplers(counts, chances, plan), *out);
}

Expected<BoundKernel> bindBinomial(const BindContext &node, KernelFn fn) {
  using Parameters = TypeList<float, double, Half>;
  using Samples = TypeList<float, double, Half, int32_t, int64_t>;
  if (!visitType(node.inputTypes.back(), Parameters(), []<typename>() {}))
    return unsupportedDType(node, node.inputTypes.back());
  if (!visitType(node.outputTypes[0], Samples(), []<typename>() {}))
    return unsupportedDType(node, node.outputTypes[0]);
  return boundWith(fn, SampleState{node.outputTypes[0], {}});
}
template <bool isStateful> Expected<BoundKernel> bindBinomialOp(const BindContext &node) {
  return bindBinomial(node, runBinomial<isStateful>);
}

using PoissonTypes = TypeList<float, double, Half, int32_t, int64_t>;

const KernelEntry randomSampleTable[] = {
    {"RandomGamma", bindSamples<runSeeded<GammaSampler>, FloatTypes>},
    {"RandomPoisson", bindSamples<runSeeded<PoissonSampler>, TypeList<float, double, Half>>},
    {"RandomPoissonV2", bindSamples<runSeeded<PoissonSampler>, PoissonTypes>},
    {"StatelessRandomGammaV2",
     bindSamples<runStateless<GammaSampler, SeedSource::Seed>, FloatTypes>},
    {"StatelessRandomGammaV3",
     bindSamples<runStateless<GammaSampler, SeedSource::Key>, FloatTypes>},
    {"StatelessRandomPoisson",
     bindSamples<runStateless<PoissonSampler, SeedSource::Seed>, PoissonTypes>},
    {"StatelessRandomBinomial", bindBinomialOp<false>},
    {"StatefulRandomBinomial", bindBinomialOp<true>},
};

} // namespace

std::span<const KernelEntry> randomSampleKernels() { return randomSampleTable; }

} // namespace treadle
