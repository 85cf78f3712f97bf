// Samplers of classes for sampled losses: TensorFlow's distributions over [0, range), reproducing
// its numbers.
#pragma once

#include "treadle/kernels/random/Philox.h"
#include "treadle/tensor/BudgetedMemory.h"
#include "treadle/tensor/Error.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace treadle {

/// A distribution of classes.
class CandidateSampler {
public:
  explicit CandidateSampler(int64_t range) : range(range) {}
  virtual ~CandidateSampler() = default;
  virtual int64_t sample(PhiloxNumbers &numbers) const = 0;
  virtual float probability(int64_t id) const = 0;
  const int64_t range;
};

std::unique_ptr<CandidateSampler> makeUniformSampler(int64_t range);
/// Returns a log-uniform (Zipfian) distribution: for classes sorted by descending frequency.
std::unique_ptr<CandidateSampler> makeLogUniformSampler(int64_t range);
/// Returns a distribution with probabilities proportional to the weights.
std::unique_ptr<CandidateSampler> makeWeightedSampler(std::vector<float> weights);

/// Learns class frequencies from the classes that it is given. Not thread-safe.
class LearningSampler : public CandidateSampler {
public:
  explicit LearningSampler(int64_t range);
  int64_t sample(PhiloxNumbers &numbers) const override;
  float probability(int64_t id) const override;
  void learn(std::span<const int64_t> ids);

private:
  const MemoryShare share;
  BudgetedVector<int32_t> weights;
  BudgetedVector<int32_t> sums; // a Fenwick tree of the weights
  int32_t total;
};

} // namespace treadle
