// Epilogues: what fused ops apply to the elements of a convolution or matrix product while these
// are still in the cache: a factor and an offset per channel, an addend, an activation.
#pragma once

#include "treadle/kernels/Element.h"

#include <vector>

namespace treadle {

enum class Activation : uint8_t {
  None,
  Relu,
  Relu6,
  Elu,
  LeakyRelu,
  Tanh,
  Sigmoid,
  GeluExact,
  GeluApproximate,
  Swish,
  HardSwish,
  HardSigmoid,
};

/// Returns the activation that an attribute names; nullopt for an unknown name.
std::optional<Activation> findActivation(std::string_view name);

/// Applies the activation to `n` elements in place. `alpha` is LeakyRelu's. T is float or double.
template <typename T> void activate(Activation activation, float alpha, T *x, int64_t n);

/// The attributes fused_ops, epsilon and leakyrelu_alpha: the steps in their order. BiasAdd and
/// FusedBatchNorm come first, an activation last; between them are Mul and Add, which broadcast
/// like the ops of these names.
struct EpilogueSpec {
  enum class Step : uint8_t { BiasAdd, BatchNorm, Mul, Add };
  std::vector<Step> steps;
  Activation activation = Activation::None;
  float epsilon = 0, alpha = 0;

  /// Returns Unimplemented for an unsupported sequence of ops.
  static Expected<EpilogueSpec> of(const BindContext &node);
  int numArguments() const;
};

/// The result that an epilogue is applied to.
struct EpilogueTarget {
  DType dtype;
  Dims dims; // dims of the output
  int64_t channels;
  bool channelsLast = true;
};

/// A spec with its arguments. Factors and offsets per channel and one addend of the result's shape
/// are applied piece by piece; steps with other arguments are applied by `finish`.
class Epilogue {
public:
  /// Reads the arguments from inputs `first` on; nullopt, with ctx failed, if they don't match the
  /// result.
  static std::optional<Epilogue> of(OpContext &ctx, const EpilogueSpec &spec, int first,
                                    const EpilogueTarget &target);

  /// A factor per channel, and an offset per channel that is added after it; empty if absent.
  const Tensor &channelFactor() const { return factor; }
  const Tensor &channelOffset() const { return offset; }
  /// The tensor that is added after these and before the activation.
  const Tensor &addendTensor() const { return added; }
  /// The activation that `apply` ends with; None if `finish` has steps to apply.
  Activation lastActivation() const { return deferred.empty() ? activation : Activation::None; }
  float activationAlpha() const { return alpha; }
  /// Replaces the addend by one in the result's channels-last layout.
  void setAddend(Tensor value) { added = std::move(value); }

  /// Applies to elements [row, row + rows) x [column, column + columns) of a result [positions,
  /// channels] at `result`.
  template <typename T>
  void apply(T *result, int64_t row, int64_t rows, int64_t column, int64_t columns) const;
  /// Applies the remaining steps to the whole result; false, with ctx failed, if one fails.
  bool finish(OpContext &ctx, Tensor &result) const;

private:
  struct DeferredStep {
    EpilogueSpec::Step step;
    Tensor argument;
  };

  bool readStep(OpContext &ctx, EpilogueSpec::Step step, int &input, const EpilogueTarget &target);
  template <typename T> bool scale(OpContext &ctx, const Tensor &by);
  template <typename T> bool shift(OpContext &ctx, const Tensor &by);
  template <typename T> bool normalise(OpContext &ctx, int first);

  int64_t channels = 0;
  float epsilon = 0, alpha = 0;
  Activation activation = Activation::None;
  Tensor factor, offset, added; // empty if absent
  std::vector<DeferredStep> deferred;
};

} // namespace treadle
