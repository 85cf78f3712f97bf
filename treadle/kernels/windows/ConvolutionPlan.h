// Convolutions of floats by a plan, which is made once for each size.
#pragma once

#include "treadle/kernels/windows/ConvolutionByMatrix.h"
#include "treadle/tensor/ThreadSlots.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace treadle {

/// Which of input, filter and result is computed from the other two.
enum class Wanted : uint8_t { Result, InputGradient, FilterGradient };

/// What is known of a convolution before its elements are. Channels are last in images; the filter
/// is [window..., inChannels / groups, outChannels], or, outermost first, [outChannels,
/// inChannels / groups, window...].
struct ConvolutionForm {
  PlacedConvolution place;
  int64_t groups = 1;
  Wanted wanted = Wanted::Result;
  bool outermostFirst = false;
  bool hasOffset = false;                   // one number a channel is added to the result,
  bool adds = false;                        // then what lay there before,
  Activation activation = Activation::None; // is applied at last
  float alpha = 0;                          // LeakyRelu's
  int parts = 1;                            // at most, each a thread's

  bool operator==(const ConvolutionForm &) const = default;
  double products() const;
  /// Nanoseconds on one thread, about.
  double cost() const;
  /// So many parts as are worth handing over.
  int partsFor(int threads) const;
};

/// A filter in the order in which a plan reads it.
class OrderedFilter;

/// How a convolution of a form is computed: a gradient of a filter by `runFilterGradient`, all else
/// by `order` and `run`. Immutable.
class ConvolutionPlan {
public:
  virtual ~ConvolutionPlan() = default;

  /// Null where there is no fast code for it.
  static std::shared_ptr<const ConvolutionPlan> make(const ConvolutionForm &form);

  /// Whether the plan reads a filter in this order; of plans of one filter most do.
  virtual bool reads(const OrderedFilter &) const { return false; }
  /// `filter`, its output channels multiplied by `factor` unless that is null. Null, having failed.
  virtual std::shared_ptr<const OrderedFilter> order(OpContext &, const float * /*filter*/,
                                                     const float * /*factor*/) const {
    return nullptr;
  }

  /// Whether it can compute of these elements what a sum over windows gives; some plans multiply by
  /// zeros, which only numbers that are finite stand.
  virtual bool takes(const float * /*from*/) const { return true; }
  virtual bool takesAll() const { return true; }
  /// Computes the result, or the input's gradient. `offset` is null where the form has none. `next`
  /// is what will be read afterwards.
  virtual void run(OpContext &, const float * /*from*/, const OrderedFilter & /*filter*/,
                   const float * /*offset*/, float * /*to*/, std::span<const char> /*next*/) const {
  }
  /// Computes the filter's gradient.
  virtual void runFilterGradient(OpContext &, const float * /*in*/, const float * /*out*/,
                                 float * /*filter*/) const {}
};

/// The factor that an ordered filter was multiplied by.
std::span<const float> factorOf(const OrderedFilter &filter);
/// Where it begins, if it is read from there on.
std::span<const char> weightsOf(const OrderedFilter &filter);

/// The plans of one node. Thread-safe: a thread that asks for what it asked for before takes no
/// lock.
class ConvolutionPlans {
public:
  /// Null where there is none. That depends on the form alone, so that all calls give the same
  /// bits.
  std::shared_ptr<const ConvolutionPlan> find(const ConvolutionForm &form) const;

private:
  struct Known {
    ConvolutionForm form;
    std::shared_ptr<const ConvolutionPlan> plan;
  };
  Known findKnown(const ConvolutionForm &form) const;

  ThreadSlots<std::optional<Known>> slots; // what each thread found last
  mutable std::mutex mutex;                // guards what follows
  mutable std::vector<Known> known;        // the last one that was used comes first
};

} // namespace treadle
