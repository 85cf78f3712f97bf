// Convolutions of floats by plans, each of which is made once per size.
#pragma once

#include "treadle/kernels/windows/ConvolutionByMatrix.h"
#include "treadle/tensor/ThreadSlots.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace treadle {

/// The operand that is computed from the other two.
enum class ConvolutionOperand : uint8_t { Result, InputGradient, FilterGradient };

/// The parameters of a convolution that are known before its elements. Images are channels-last;
/// the filter is [window..., inChannels / groups, outChannels], or, if `outermostFirst`,
/// [outChannels, inChannels / groups, window...].
struct ConvolutionForm {
  PlacedConvolution place;
  int64_t groups = 1;
  ConvolutionOperand wanted = ConvolutionOperand::Result;
  bool outermostFirst = false;
  bool hasOffset = false;                   // add an offset per channel,
  bool adds = false;                        // then add to the existing values,
  Activation activation = Activation::None; // applied last
  float alpha = 0;                          // LeakyRelu's
  int parts = 1;                            // maximum, one per thread

  bool operator==(const ConvolutionForm &) const = default;
  double products() const;
  /// Approximate nanoseconds on one thread.
  double cost() const;
  /// Number of parts that are worth handing to other threads.
  int partsFor(int threads) const;
};

/// A filter in the layout of a plan.
class OrderedFilter;

/// The implementation of a convolution of a given form: the gradient of a filter by
/// `runFilterGradient`, all others by `order` and `run`. Immutable.
class ConvolutionPlan {
public:
  virtual ~ConvolutionPlan() = default;

  /// Returns null if no plan supports the form.
  static std::shared_ptr<const ConvolutionPlan> make(const ConvolutionForm &form);

  /// Whether the plan can read a filter in this layout. Most plans of one filter share a layout.
  virtual bool canReadFilter(const OrderedFilter &) const { return false; }
  /// Returns `filter` in the layout of the plan, with its output channels multiplied by `factor`
  /// unless that is null. Returns null, with ctx failed, if there isn't enough memory.
  virtual std::shared_ptr<const OrderedFilter> order(OpContext &, const float * /*filter*/,
                                                     const float * /*factor*/) const {
    return nullptr;
  }

  /// Whether the plan computes the exact sum over windows for these elements. Some plans multiply
  /// by zeros, so they take only finite numbers.
  virtual bool supportsElements(const float * /*from*/) const { return true; }
  virtual bool supportsAllElements() const { return true; }
  /// Computes the result, or the input's gradient. `offset` is null if the form has none. `next` is
  /// memory to prefetch for the next computation.
  virtual void run(OpContext &, const float * /*from*/, const OrderedFilter & /*filter*/,
                   const float * /*offset*/, float * /*to*/, std::span<const char> /*next*/) const {
  }
  /// Computes the filter's gradient.
  virtual void runFilterGradient(OpContext &, const float * /*in*/, const float * /*out*/,
                                 float * /*filter*/) const {}
};

/// Returns the factor that an ordered filter was multiplied by.
std::span<const float> factorOf(const OrderedFilter &filter);
/// Returns the elements of an ordered filter, for prefetching from its beginning.
std::span<const char> weightsOf(const OrderedFilter &filter);

/// The plans of one node. Thread-safe: a thread that repeats its last lookup needs no lock.
class ConvolutionPlans {
public:
  /// Returns null if there is no plan. That depends only on the form, so that all calls give
  /// bitwise equal results.
  std::shared_ptr<const ConvolutionPlan> find(const ConvolutionForm &form) const;

private:
  struct Known {
    ConvolutionForm form;
    std::shared_ptr<const ConvolutionPlan> plan;
  };
  Known findKnown(const ConvolutionForm &form) const;

  ThreadSlots<std::optional<Known>> slots; // last lookup of each thread
  mutable std::mutex mutex;                // guards the member below
  mutable std::vector<Known> known;        // most recently used first
};

} // namespace treadle
