// What fused ops do with the elements of a convolution or of a matrix product while these are still
// in the cache: a factor and an offset a channel, a summand, an activation.
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

/// The activation that an attribute names; nothing for a name that nobody knows.
std::optional<Activation> findActivation(std::string_view name);

/// Applies it to `n` elements in place. `alpha` is LeakyRelu's. T is float or double.
template <typename T> void activate(Activation activation, float alpha, T *x, int64_t n);

/// The attributes fused_ops, epsilon and leakyrelu_alpha: what happens to a result, in this order.
/// BiasAdd and FusedBatchNorm come first, an activation last; between them stand Mul and Add, which
/// broadcast as the ops of these names do.
struct EpilogueSpec {
  enum class Step : uint8_t { BiasAdd, BatchNorm, Mul, Add };
  std::vector<Step> steps;
  Activation activation = Activation::None;
  float epsilon = 0, alpha = 0;

  /// Unimplemented for a sequence that isn't known.
  static Expected<EpilogueSpec> of(const BindContext &node);
  int numArguments() const;
};

/// A result that an epilogue is made for.
struct EpilogueTarget {
  DType dtype;
  Dims dims; // of the output
  int64_t channels;
  bool channelsLast = true;
};

/// A spec with its arguments. Factors and offsets a channel and one summand of the result's shape
/// are applied piece by piece; steps with other arguments are left to `finish`.
class Epilogue {
public:
  /// Reads inputs from `first` on; nothing, having failed, where they don't go with the result.
  static std::optional<Epilogue> of(OpContext &ctx, const EpilogueSpec &spec, int first,
                                    const EpilogueTarget &target);

  /// One number a channel each, which is multiplied by and then added; empty where there is none.
  const Tensor &channelFactor() const { return factor; }
  const Tensor &channelOffset() const { return offset; }
  /// What is added after these, and before the activation.
  const Tensor &summand() const { return added; }
  /// What `apply` does at last: nothing where some steps are late.
  Activation lastActivation() const { return late.empty() ? activation : Activation::None; }
  float activationAlpha() const { return alpha; }
  /// With its channels last, as the result lies.
  void setSummand(Tensor value) { added = std::move(value); }

  /// Elements [row, row + rows) x [column, column + columns) of a result that begins at `result`
  /// and lies as [positions, channels].
  template <typename T>
  void apply(T *result, int64_t row, int64_t rows, int64_t column, int64_t columns) const;
  /// The steps that `apply` left out, on the whole result; false, having failed.
  bool finish(OpContext &ctx, Tensor &result) const;

private:
  struct Late {
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
  Tensor factor, offset, added; // empty where there is none
  std::vector<Late> late;
};

} // namespace treadle
