// Initial centers of clustering (D. Arthur and S. Vassilvitskii, "k-means++", 2007; O. Bachem et
// al., "Approximate k-means++ in sublinear time", 2016), with TensorFlow's random numbers.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/random/Philox.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace treadle {
namespace {

/// Single numbers of a random stream that generates blocks.
class UniformDraws {
public:
  explicit UniformDraws(int64_t seed)
      : stream(Philox::fromKey(static_cast<uint64_t>(seed), 0, 0)) {}

  uint32_t next() {
    if (at == 4) {
      block = stream.next();
      at = 0;
    }
    return block[at++];
  }
  uint64_t next64() {
    uint64_t low = next();
    return low | uint64_t{next()} << 32;
  }
  /// Returns a number in [0, 1), from the bits of a fraction.
  float nextFloat() { return std::bit_cast<float>((next() & 0x7fffff) | 127U << 23) - 1.0f; }
  /// Returns a uniform number below n.
  int64_t below(uint64_t n) {
    if (std::has_single_bit(n))
      return static_cast<int64_t>(next64() & (n - 1));
    uint64_t surplus = ~uint64_t{0} % n + 1, number;
    do
      number = next64();
    while (number < surplus);
    return static_cast<int64_t>(number % n);
  }

private:
  Philox stream;
  Philox::Block block{};
  size_t at = 4;
};

/// Reads the scalars from input `first` on.
bool readScalars(OpContext &ctx, int first, std::span<int64_t> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Tensor &t = ctx.input(first + static_cast<int>(i));
    if (t.count() != 1) {
      ctx.fail(invalidArgument("input ", first + static_cast<int>(i), " must be a scalar, but is ",
                               tensorTypeText(t)));
      return false;
    }
    values[i] = *t.data<int64_t>();
  }
  return true;
}

// --- KmeansPlusPlusInitialization --------------------------------------------------------------

/// k-means++: draws points that are not yet centers, with probabilities that grow with their
/// distance.
class Seeding {
public:
  Seeding(const Tensor &points, int64_t seed, int64_t retries)
      : points(points.data<float>()), count(points.dim(0)), size(points.dim(1)), retries(retries),
        draws(seed), nearest(static_cast<size_t>(count), std::numeric_limits<float>::infinity()),
        isTaken(static_cast<size_t>(count)) {
    for (int64_t p = 0; p < count; ++p)
      halfNorms.push_back(0.5f * product(row(p), row(p)));
  }

  /// Samples several candidates, and adds the one with the smallest total distance as a center. The
  /// first center is drawn uniformly.
  void next(float *out) {
    std::vector<float> sums(hasTaken ? nearest : std::vector<float>());
    for (size_t i = 1; i < sums.size(); ++i)
      sums[i] += sums[i - 1];
    int64_t best = 0;
    float least = std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i <= retries; ++i) {
      int64_t candidate = draw(sums);
      float total = 0;
      for (int64_t p = 0; p < count; ++p)
        total += distance(p, candidate);
      if (total < least || i == 0) {
        least = total;
        best = candidate;
      }
    }
    take(best, out);
  }

private:
  const float *row(int64_t p) const { return points + p * size; }
  float product(const float *a, const float *b) const {
    return std::inner_product(a, a + size, b, 0.0f);
  }
  /// Half the squared distance from a point to the nearest center, including the candidate;
  /// computed by norms and a product, to round like TensorFlow.
  float distance(int64_t p, int64_t candidate) const {
    float own = halfNorms[static_cast<size_t>(p)] - product(row(p), row(candidate)) +
                halfNorms[static_cast<size_t>(candidate)];
    return std::min(nearest[static_cast<size_t>(p)], own);
  }
  int64_t drawUniformly() { return draws.below(static_cast<uint64_t>(count)); }
  /// Samples a point that isn't a center, with probabilities given by the cumulative sums;
  /// uniformly if there are none, or if rounding leaves only centers.
  int64_t draw(const std::vector<float> &sums) {
    if (sums.empty())
      return drawUniformly();
    for (int64_t tries = 0;; ++tries) {
      int64_t place = count;
      if (sums.back() > 0 && tries <= count + 1000)
        place = std::ranges::upper_bound(sums, draws.nextFloat() * sums.back()) - sums.begin();
      else
        place = drawUniformly();
      place = std::min(place, count - 1);
      if (!isTaken[static_cast<size_t>(place)])
        return place;
    }
  }
  void take(int64_t candidate, float *out) {
    hasTaken = isTaken[static_cast<size_t>(candidate)] = true;
    std::copy_n(row(candidate), size, out);
    for (int64_t p = 0; p < count; ++p)
      nearest[static_cast<size_t>(p)] = distance(p, candidate);
  }

  const float *points;
  int64_t count, size, retries;
  UniformDraws draws;
  std::vector<float> nearest, halfNorms;
  std::vector<bool> isTaken;
  bool hasTaken = false;
};

void initialize(OpContext &ctx) {
  const Tensor points = ctx.input(0);
  int64_t values[3];
  if (!readScalars(ctx, 1, values))
    return;
  if (points.rank() != 2)
    return ctx.fail(invalidArgument("points must be a matrix, but are ", tensorTypeText(points)));
  auto &[wanted, seed, retries] = values;
  constexpr int64_t maxRetries = 1 << 20;
  if (retries < 0 && wanted > 0) // TensorFlow's default
    retries = 2 + static_cast<int64_t>(std::log(static_cast<double>(wanted)));
  if (wanted < 1 || wanted > points.dim(0) || retries > maxRetries)
    return ctx.fail(invalidArgument("num_to_sample is ", wanted, " and num_retries_per_sample ",
                                    retries, ", expected 1 to ", points.dim(0), " and at most ",
                                    maxRetries));
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Float32, {wanted, points.dim(1)}));
  Seeding seeding(points, seed, retries);
  for (int64_t i = 0; i < wanted; ++i)
    seeding.next(out->data<float>() + i * points.dim(1));
}

// --- KMC2ChainInitialization -------------------------------------------------------------------

/// Outputs the end of a Markov chain that walks over points by their distances.
void walkChain(OpContext &ctx) {
  const Tensor distances = ctx.input(0);
  int64_t seed;
  if (!readScalars(ctx, 1, {&seed, 1}))
    return;
  if (distances.rank() != 1 || !distances.count())
    return ctx.fail(invalidArgument("distances must be a vector of elements, but are ",
                                    tensorTypeText(distances)));
  UniformDraws draws(seed);
  int64_t at = 0;
  const float *d = distances.data<float>();
  for (int64_t i = 1; i < distances.count(); ++i)
    if (draws.nextFloat() * d[at] < d[i])
      at = i;
  ctx.setOutput(0, Tensor::scalar(DType::Int64, at));
}

const KernelEntry clusteringTable[] = {
    {"KMC2ChainInitialization", bindPlain<walkChain>},
    {"KmeansPlusPlusInitialization", bindPlain<initialize>},
};

} // namespace

std::span<const KernelEntry> clusteringKernels() { return clusteringTable; }

} // namespace treadle
