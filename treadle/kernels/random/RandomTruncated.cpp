// Truncated normal distributions with mean, deviation and bounds as tensors.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/random/RandomNumbers.h"
#include "treadle/kernels/random/RandomStream.h"

#include <utility>

namespace treadle {

extern template bool planBroadcast<4>(const std::array<Dims, 4> &, BroadcastPlan<4> &);

namespace {

constexpr int64_t maxTries = 1000;

// The output elements of one distribution.
template <typename T> struct Samples {
  T *out;
  int64_t count, stride;
};

// Samples with the method of three that rejects least: normal, uniform between the bounds, or
// exponential above the lower bound (Robert, "Simulation of truncated normal variables", 1995).
// Bounds are normalized.
template <typename T> class TruncatedSampler {
public:
  TruncatedSampler(T mean, T deviation, T min, T max) : mean(mean), deviation(deviation) {
    using namespace Eigen::numext;
    isValid = deviation > T(0) && min < max && ((isfinite)(min) || (isfinite)(max));
    // Mirrors the distribution so that a single bound is the lower one, and bounds on one side of
    // the mean are positive.
    if (((isinf)(min) && min < T(0)) || max < mean) {
      std::swap(min, max);
      this->deviation = -deviation;
    }
    low = (min - mean) / this->deviation;
    high = (max - mean) / this->deviation;
  }

  bool hasDistribution() const { return isValid; }
  /// Returns false if a parameter is invalid, or if no sample is accepted.
  bool draw(Philox &stream, Samples<T> samples) const {
    using namespace Eigen::numext;
    if (!isValid)
      return false;
    const T inside = T(1.3); // deviations: try normal numbers beyond
    T root = sqrt(low * low + T(4));
    T cutoff = T(2) * exp(T(0.5) + (low * (low - root)) / T(4)) / (low + root);
    if ((low < -inside && high >= T(0)) || (high > inside && low <= T(0)))
      return drawNormal(stream, samples);
    return high - low < cutoff ? drawUniform(stream, samples) : drawExponential(stream, samples);
  }

private:
  static constexpr int group = groupOf<T>;

  void put(Samples<T> samples, int64_t i, T z) const {
    samples.out[i * samples.stride] = z * deviation + mean;
  }

  bool drawNormal(Philox &stream, Samples<T> samples) const {
    T z[group];
    int64_t tries = 0;
    for (int64_t done = 0; done < samples.count;) {
      NormalNumbers<T>::draw(stream, {}, z);
      for (int i = 0; i < group && done < samples.count; ++i) {
        if (z[i] >= low && z[i] <= high) {
          put(samples, done++, z[i]);
          tries = 0;
        } else if (++tries > maxTries) {
          return false;
        }
      }
    }
    return true;
  }

  bool drawUniform(Philox &stream, Samples<T> samples) const {
    T z[group], u[group], width = high - low, offset = low < T(0) ? T(0) : low * low;
    int64_t tries = 0;
    for (int64_t done = 0; done < samples.count;) {
      UniformNumbers<T>::draw(stream, {}, z);
      UniformNumbers<T>::draw(stream, {}, u);
      for (int i = 0; i < group && done < samples.count; ++i) {
        z[i] = z[i] * width + low;
        if (u[i] <= Eigen::numext::exp((offset - z[i] * z[i]) / T(2))) {
          put(samples, done++, z[i]);
          tries = 0;
        } else if (++tries >= maxTries) {
          return false;
        }
      }
    }
    return true;
  }

  bool drawExponential(Philox &stream, Samples<T> samples) const {
    T u[group], alpha = (low + Eigen::numext::sqrt(low * low + T(4))) / T(2);
    int64_t tries = 0;
    for (int64_t done = 0; done < samples.count;) {
      UniformNumbers<T>::draw(stream, {}, u);
      for (int i = 0; i < group && done < samples.count; i += 2) {
        T z = -Eigen::numext::log(u[i]) / alpha + low;
        T x = low < alpha ? alpha - z : low - alpha;
        if (u[i + 1] <= Eigen::numext::exp(-x * x / T(2)) && z < high) {
          put(samples, done++, z);
          tries = 0;
        } else if (++tries >= maxTries) {
          return false;
        }
      }
    }
    return true;
  }

  T mean, deviation, low, high;
  bool isValid;
};

Error noSamples(bool isValid) {
  if (isValid)
    return internal("no sample was accepted between the bounds");
  return invalidArgument("deviations must be positive, bounds in order and one of them finite");
}

// --- ParameterizedTruncatedNormal: a distribution for each row -----------------------------------

struct TruncatedState {
  NodeStream stream;
};

bool checkParameters(OpContext &ctx, int64_t rows) {
  for (int i = 1; i < 5; ++i) {
    const Tensor &t = ctx.input(i);
    if (t.isScalar() || (t.rank() == 1 && (t.dim(0) == 1 || t.dim(0) == rows)))
      continue;
    ctx.fail(invalidArgument("input ", i, " must be a scalar or a vector of 1 or ", rows,
                             " elements, but has shape ", dimsText(t.dims())));
    return false;
  }
  return true;
}

// If all rows have the same parameters, they are split into pieces of 100 samples, as in
// TensorFlow: each piece restarts the stream.
bool isOneDistribution(OpContext &ctx) {
  return ctx.input(1).count() == 1 && ctx.input(2).count() == 1 && ctx.input(3).isScalar() &&
         ctx.input(4).isScalar();
}

template <typename T> struct TruncatedKernel {
  static TruncatedSampler<T> samplerOf(OpContext &ctx, int64_t row) {
    auto of = [&](int i) {
      const Tensor &t = ctx.input(i);
      return t.data<T>()[t.count() == 1 ? 0 : row];
    };
    return {of(1), of(2), of(3), of(4)};
  }

  static void run(OpContext &ctx) {
    Tensor *out = TREADLE_OR_RETURN(allocateRandomOutput(ctx, 0, dtypeOf<T>));
    if (out->rank() == 0)
      return ctx.fail(invalidArgument("shape must have at least one dimension"));
    int64_t rows = out->dim(0), count = out->count();
    if (!checkParameters(ctx, rows))
      return;
    int64_t samples = rows ? count / rows : 0;
    if (isOneDistribution(ctx)) {
      samples = 100;
      rows = (count + samples - 1) / samples;
    }
    auto blocks = static_cast<uint64_t>(rows * 2 * maxTries * (samples + 3) / 4);
    Philox stream = ctx.state<TruncatedState>().stream.reserve(ctx, blocks);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t begin = row * samples;
      auto sampler = samplerOf(ctx, row);
      if (!sampler.draw(stream, {out->data<T>() + begin, std::min(samples, count - begin), 1}))
        return ctx.fail(noSamples(sampler.hasDistribution()));
    }
  }
};

// --- stateless form: parameters are broadcast ----------------------------------------------------

bool endsWith(Dims dims, Dims end) {
  return dims.size() >= end.size() && std::ranges::equal(dims.last(end.size()), end);
}

template <typename T> struct StatelessTruncatedKernel {
  static void run(OpContext &ctx) {
    Philox stream;
    if (!readSeed(ctx, 1, stream))
      return;
    std::array<Tensor, 4> in = {ctx.input(2), ctx.input(3), ctx.input(4), ctx.input(5)};
    BroadcastPlan<4> plan;
    if (!planBroadcast<4>({in[0].dims(), in[1].dims(), in[2].dims(), in[3].dims()}, plan))
      return ctx.fail(invalidArgument("the parameters' shapes are incompatible"));
    Tensor *out = TREADLE_OR_RETURN(allocateRandomOutput(ctx, 0, dtypeOf<T>));
    if (!endsWith(out->dims(), plan.resultDims()))
      return ctx.fail(invalidArgument(
          "shape is ", dimsText(out->dims()),
          ", expected one that ends with that of the parameters: ", dimsText(plan.resultDims())));
    if (!out->count())
      return;
    int64_t samples = out->count() / plan.count;
    int inner = plan.loops - 1;
    forEachRow<4>(plan, [&](const std::array<int64_t, 4> &at, int64_t begin) {
      for (int64_t i = 0; i < plan.size[inner] && !ctx.hasFailed(); ++i) {
        auto of = [&](size_t k) { return in[k].data<T>()[at[k] + i * plan.stride[k][inner]]; };
        TruncatedSampler<T> sampler(of(0), of(1), of(2), of(3));
        if (!sampler.draw(stream, {out->data<T>() + begin + i, samples, plan.count}))
          ctx.fail(noSamples(sampler.hasDistribution()));
      }
    });
  }
};

using TruncatedTypes = TypeList<float, double, Half>;

Expected<BoundKernel> bindTruncated(const BindContext &node) {
  return withState(bindForType<TruncatedKernel, TruncatedTypes>(node, node.outputTypes[0]),
                   TruncatedState{NodeStream::of(node)});
}

Expected<BoundKernel> bindStatelessTruncated(const BindContext &node) {
  return bindForType<StatelessTruncatedKernel, TruncatedTypes>(node, node.outputTypes[0]);
}

const KernelEntry randomTruncatedTable[] = {
    {"ParameterizedTruncatedNormal", bindTruncated},
    {"StatelessParameterizedTruncatedNormal", bindStatelessTruncated},
};

} // namespace

std::span<const KernelEntry> randomTruncatedKernels() { return randomTruncatedTable; }

} // namespace treadle
