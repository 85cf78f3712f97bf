#include "treadle/kernels/random/CandidateSampler.h"
#include "treadle/kernels/random/RandomNumbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace treadle {
namespace {

// Returns a uniform number in [0, n); rejects numbers that would bias the result.
template <typename U, typename Next> U uniformBelow(U n, Next &&next) {
  if ((n & (n - 1)) == 0)
    return next() & (n - 1);
  U passedOver = std::numeric_limits<U>::max() % n + 1, number;
  do
    number = next();
  while (number < passedOver);
  return number % n;
}
uint32_t uniformBelow32(PhiloxNumbers &numbers, uint32_t n) {
  return uniformBelow<uint32_t>(n, [&] { return numbers.next(); });
}
uint64_t uniformBelow64(PhiloxNumbers &numbers, uint64_t n) {
  return uniformBelow<uint64_t>(n, [&] {
    uint64_t low = numbers.next();
    return low | uint64_t{numbers.next()} << 32;
  });
}

class UniformSampler : public CandidateSampler {
public:
  using CandidateSampler::CandidateSampler;
  int64_t sample(PhiloxNumbers &numbers) const override {
    return static_cast<int64_t>(uniformBelow64(numbers, static_cast<uint64_t>(range)));
  }
  float probability(int64_t) const override {
    return static_cast<float>(1.0 / static_cast<double>(range));
  }
};

class LogUniformSampler : public CandidateSampler {
public:
  explicit LogUniformSampler(int64_t range)
      : CandidateSampler(range), logRange(std::log1p(static_cast<double>(range))) {}
  int64_t sample(PhiloxNumbers &numbers) const override {
    uint32_t high = numbers.next(), low = numbers.next();
    // Rounding may yield the end of the range.
    return (static_cast<int64_t>(std::exp(uniformDouble(high, low) * logRange)) - 1) % range;
  }
  float probability(int64_t id) const override {
    auto x = static_cast<double>(id);
    return static_cast<float>(std::log((x + 2) / (x + 1)) / logRange);
  }

private:
  double logRange;
};

// Walker's alias method: each bucket holds a class and, for the rest of its width, another one.
class WeightedSampler : public CandidateSampler {
public:
  explicit WeightedSampler(std::vector<float> all)
      : CandidateSampler(static_cast<int64_t>(all.size())), weights(std::move(all)),
        share(weights.size()), other(weights.size()) {
    for (float weight : weights)
      total += weight;
    fillBuckets();
  }
  int64_t sample(PhiloxNumbers &numbers) const override {
    float number = uniformFloat(numbers.next());
    auto bucket = uniformBelow32(numbers, static_cast<uint32_t>(range));
    return number < share[bucket] ? bucket : other[bucket];
  }
  float probability(int64_t id) const override {
    return id < 0 || id >= range ? 0 : weights[static_cast<size_t>(id)] / total;
  }

private:
  void fillBuckets() {
    double sum = 0;
    for (float weight : weights)
      sum += static_cast<double>(weight);
    std::vector<double> left(weights.size());
    std::vector<size_t> high, low;
    for (size_t i = 0; i < weights.size(); ++i) {
      left[i] = static_cast<double>(weights[i] * static_cast<float>(range)) / sum;
      (left[i] < 1 ? low : high).push_back(i);
    }
    while (!high.empty() && !low.empty()) {
      size_t l = low.back(), h = high.back();
      low.pop_back();
      high.pop_back();
      other[l] = static_cast<int64_t>(h);
      left[h] -= 1 - left[l];
      (left[h] < 1 ? low : high).push_back(h);
    }
    std::ranges::transform(left, share.begin(), [](double x) { return static_cast<float>(x); });
    for (const auto *rest : {&high, &low}) // full except for rounding
      for (size_t i : *rest) {
        share[i] = 1;
        other[i] = static_cast<int64_t>(i);
      }
  }

  std::vector<float> weights, share;
  std::vector<int64_t> other;
  float total = 0;
};

} // namespace

std::unique_ptr<CandidateSampler> makeUniformSampler(int64_t range) {
  return std::make_unique<UniformSampler>(range);
}
std::unique_ptr<CandidateSampler> makeLogUniformSampler(int64_t range) {
  return std::make_unique<LogUniformSampler>(range);
}
std::unique_ptr<CandidateSampler> makeWeightedSampler(std::vector<float> weights) {
  return std::make_unique<WeightedSampler>(std::move(weights));
}

// --- learning samplers ---------------------------------------------------------------------------

LearningSampler::LearningSampler(int64_t range)
    : CandidateSampler(range), weights(static_cast<size_t>(range), 1, share),
      sums(static_cast<size_t>(range) + 1, share), total(static_cast<int32_t>(range)) {
  for (size_t i = 1; i < sums.size(); ++i)
    sums[i] = static_cast<int32_t>(i & -i);
}

int64_t LearningSampler::sample(PhiloxNumbers &numbers) const {
  auto sought = static_cast<int32_t>(uniformBelow32(numbers, static_cast<uint32_t>(total)));
  size_t at = 0, step = 1;
  while (step * 2 < sums.size())
    step *= 2;
  for (; step; step /= 2)
    if (at + step < sums.size() && sums[at + step] <= sought)
      sought -= sums[at += step];
  return static_cast<int64_t>(at);
}

float LearningSampler::probability(int64_t id) const {
  return static_cast<float>(weights[static_cast<size_t>(id)]) / static_cast<float>(total);
}

void LearningSampler::learn(std::span<const int64_t> ids) {
  auto room = static_cast<size_t>(std::numeric_limits<int32_t>::max() - total);
  for (int64_t id : ids.first(std::min(room, ids.size()))) {
    ++weights[static_cast<size_t>(id)];
    ++total;
    for (auto i = static_cast<size_t>(id) + 1; i < sums.size(); i += i & -i)
      ++sums[i];
  }
}

} // namespace treadle
