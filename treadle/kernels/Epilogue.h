// What fused ops do with the elements of a convolution or of a matrix product while these are still
// in the cache: a factor and an offset a channel, a summand, an activation.
#pragma once

#include "treadle/kernels/Element.h"

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
};

/// The activation that an attribute names; nothing for a name that nobody knows.
std::optional<Activation> findActivation(std::string_view name);

/// Applies it to `n` elements in place. `alpha` is LeakyRelu's. T is float or double.
template <typename T> void activate(Activation activation, float alpha, T *x, int64_t n);

/// The attributes fused_ops, epsilon and leakyrelu_alpha: what happens to a result, in this order.
struct EpilogueSpec {
  enum class Channels : uint8_t { AsTheyAre, Bias, BatchNorm };
  Channels channels = Channels::AsTheyAre;
  bool hasSummand = false;
  Activation activation = Activation::None;
  float epsilon = 0, alpha = 0;

  /// Unimplemented for a sequence that isn't known.
  static Expected<EpilogueSpec> of(const BindContext &node);
  int numArguments() const;
};

/// A spec with its arguments: the vectors of a result of `channels` channels, and the summand.
class Epilogue {
public:
  /// Reads inputs from `first` on; nothing, having failed, where they aren't vectors of so many
  /// elements. The dtype is that of the result, and so is the shape of the summand.
  static std::optional<Epilogue> of(OpContext &ctx, const EpilogueSpec &spec, int first,
                                    int64_t channels, DType dtype);

  const Tensor &summand() const { return added; }
  /// With its channels last, as the result lies.
  void setSummand(Tensor value) { added = std::move(value); }

  /// Elements [row, row + rows) x [column, column + columns) of a result that begins at `result`
  /// and lies as [positions, channels].
  template <typename T>
  void apply(T *result, int64_t row, int64_t rows, int64_t column, int64_t columns) const;

private:
  bool readVectors(OpContext &ctx, int first, DType dtype);
  template <typename T> void fold(OpContext &ctx, int first);

  EpilogueSpec spec;
  int64_t channels = 0;
  Tensor factor, offset, added; // empty where there is none
};

} // namespace treadle
