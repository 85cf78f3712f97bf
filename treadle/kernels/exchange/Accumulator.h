// Gradient accumulators: they sum gradients that aren't stale, and return the mean or sum once
// there are enough.
#pragma once

#include "treadle/kernels/Update.h"

#include <map>
#include <memory>
#include <mutex>

namespace treadle {

/// The parameters of an accumulator; two of one name must agree.
struct AccumulatorTraits {
  DType dtype = DType::Invalid;
  PartialShape shape = {};
  bool isMean = true; // mean or sum
  bool isSparse = false;
};

/// A sum of gradients. A gradient is a tensor, or indices, values and shape of a sparse tensor.
class GradientSum {
public:
  virtual ~GradientSum() = default;
  virtual Expected<void> add(std::vector<Tensor> gradient) = 0;
  /// Returns the sum, or the mean of `count` gradients if `divides`, and resets the sum.
  virtual Expected<std::vector<Tensor>> take(int64_t count, bool divides) = 0;
};
std::unique_ptr<GradientSum> makeDenseSum(const AccumulatorTraits &traits);
std::unique_ptr<GradientSum> makeSparseSum(const AccumulatorTraits &traits);

/// A gradient accumulator. Takers wait for enough gradients, in FIFO order. Thread-safe.
class Accumulator final : public Resource {
public:
  static constexpr std::string_view kindName = "accumulator";
  std::string_view kind() const override { return kindName; }

  explicit Accumulator(AccumulatorTraits traits)
      : traits(std::move(traits)),
        sum(this->traits.isSparse ? makeSparseSum(this->traits) : makeDenseSum(this->traits)) {}
  const AccumulatorTraits traits;

  /// Adds a gradient computed at `localStep`; drops it if it is stale.
  void apply(OpContext &ctx, int64_t localStep, std::vector<Tensor> gradient);
  void take(OpContext &ctx, int64_t required);
  void setGlobalStep(int64_t step);
  int64_t count() const;

private:
  struct WaitingTake {
    int64_t required;
    Ref<Suspension> suspension;
  };
  struct CompletedTake {
    Ref<Suspension> suspension;
    Expected<std::vector<Tensor>> result;
  };
  Expected<std::vector<Tensor>> takeSum();
  std::vector<CompletedTake> completeWaiting();

  mutable std::mutex mutex;
  std::unique_ptr<GradientSum> sum;
  std::vector<WaitingTake> takers; // waiting, in order
  int64_t gradients = 0;           // number of gradients in the sum
  int64_t globalStep = 0;
};

} // namespace treadle
