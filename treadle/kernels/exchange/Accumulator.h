// Accumulators: sums of gradients that are let in while they are fresh, and taken as a mean or a
// sum once there are enough of them.
#pragma once

#include "treadle/kernels/Update.h"

#include <map>
#include <memory>
#include <mutex>

namespace treadle {

/// What an accumulator is made for; two of one name must agree.
struct AccumulatorTraits {
  DType dtype = DType::Invalid;
  PartialShape shape = {};
  bool isMean = true; // else the sum is given
  bool isSparse = false;
};

/// Gradients added up. A gradient is one tensor, or indices, values and shape of a sparse one.
class GradientSum {
public:
  virtual ~GradientSum() = default;
  virtual Expected<void> add(std::vector<Tensor> gradient) = 0;
  /// What was added, divided by the number of gradients where `divides`; starts anew.
  virtual Expected<std::vector<Tensor>> take(int64_t count, bool divides) = 0;
};
std::unique_ptr<GradientSum> makeDenseSum(const AccumulatorTraits &traits);
std::unique_ptr<GradientSum> makeSparseSum(const AccumulatorTraits &traits);

/// Thread-safe. Who takes before there are enough gradients waits, in order of coming.
class Accumulator final : public Resource {
public:
  static constexpr std::string_view kindName = "accumulator";
  std::string_view kind() const override { return kindName; }

  explicit Accumulator(AccumulatorTraits traits)
      : traits(std::move(traits)),
        sum(this->traits.isSparse ? makeSparseSum(this->traits) : makeDenseSum(this->traits)) {}
  const AccumulatorTraits traits;

  /// Adds a gradient computed at `localStep`, unless later ones were taken already.
  void apply(OpContext &ctx, int64_t localStep, std::vector<Tensor> gradient);
  void take(OpContext &ctx, int64_t required);
  void setGlobalStep(int64_t step);
  int64_t count() const;

private:
  struct Taker {
    int64_t required;
    Ref<Suspension> suspension;
  };
  struct Finished {
    Ref<Suspension> suspension;
    Expected<std::vector<Tensor>> result;
  };
  Expected<std::vector<Tensor>> takeSum();
  std::vector<Finished> serve();

  mutable std::mutex mutex;
  std::unique_ptr<GradientSum> sum;
  std::vector<Taker> takers; // waiting, in order
  int64_t gradients = 0;     // in the sum
  int64_t globalStep = 0;
};

} // namespace treadle
