#include "treadle/kernels/Epilogue.h"
#include "treadle/kernels/Elementwise.h"
#include "treadle/kernels/VectorMath.h"

#include <unsupported/Eigen/SpecialFunctions>

#include <algorithm>
#include <cmath>

namespace treadle {

// --- activations ---------------------------------------------------------------------------------

namespace {

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation activations[] = {
    {"Identity", Activation::None},
    {"Relu", Activation::Relu},
    {"Relu6", Activation::Relu6},
    {"Elu", Activation::Elu},
    {"LeakyRelu", Activation::LeakyRelu},
    {"Tanh", Activation::Tanh},
    {"Sigmoid", Activation::Sigmoid},
    {"GeluExact", Activation::GeluExact},
    {"GeluApproximate", Activation::GeluApproximate},
};

template <typename T> using Elements = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;

// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016: x times the normal distribution's
// cumulative function, or an approximation of it.
constexpr double rootOfHalf = 0.70710678118654752440;
constexpr double rootOfTwoOverPi = 0.79788456080286535588;
constexpr double cubicTerm = 0.044715;

template <typename T> void applyGelu(T *x, int64_t n, bool isExact) {
  constexpr int64_t block = 256;
  Eigen::Array<T, block, 1> inner;
  for (int64_t at = 0; at < n; at += block) {
    int64_t count = std::min(block, n - at);
    Elements<T> part(x + at, count);
    auto scratch = inner.head(count);
    if (isExact)
      scratch = (part * T(rootOfHalf)).erf();
    else
      scratch = ((part + part.cube() * T(cubicTerm)) * T(rootOfTwoOverPi)).tanh();
    part = part * T(0.5) * (scratch + T(1));
  }
}

// A number that is none passes through comparisons.
template <typename T, typename Fn> void applyEach(T *x, int64_t n, Fn fn) {
  TREADLE_VECTORISE
  for (int64_t i = 0; i < n; ++i)
    x[i] = fn(x[i]);
}

} // namespace

std::optional<Activation> findActivation(std::string_view name) {
  for (const NamedActivation &row : activations)
    if (row.name == name)
      return row.activation;
  return std::nullopt;
}

template <typename T> void activate(Activation activation, float alpha, T *x, int64_t n) {
  switch (activation) {
  case Activation::None:
    return;
  case Activation::Relu:
    return applyEach(x, n, [](T v) { return v < T(0) ? T(0) : v; });
  case Activation::Relu6:
    return applyEach(x, n, [](T v) { return v < T(0) ? T(0) : v > T(6) ? T(6) : v; });
  case Activation::Elu:
    return applyEach(x, n, [](T v) { return v < T(0) ? std::expm1(v) : v; });
  case Activation::LeakyRelu:
    return applyEach(x, n, [a = T(alpha)](T v) { return v > T(0) ? v : v * a; });
  // As the ops of these names do.
  case Activation::Tanh:
    if constexpr (std::is_same_v<T, float>)
      return applyEach(x, n, [](T v) { return vectorTanh(v); });
    Elements<T>(x, n) = Elements<T>(x, n).tanh();
    return;
  case Activation::Sigmoid:
    if constexpr (std::is_same_v<T, float>)
      return applyEach(x, n, [](T v) { return vectorLogistic(v); });
    Elements<T>(x, n) = Elements<T>(x, n).logistic();
    return;
  case Activation::GeluExact:
  case Activation::GeluApproximate:
    return applyGelu(x, n, activation == Activation::GeluExact);
  }
}

// --- the attributes ------------------------------------------------------------------------------

Expected<EpilogueSpec> EpilogueSpec::of(const BindContext &node) {
  using Names = std::vector<std::string>;
  EpilogueSpec spec;
  spec.epsilon = node.attrs.getOr("epsilon", 0.0001f);
  spec.alpha = node.attrs.getOr("leakyrelu_alpha", 0.2f);
  Names ops = node.attrs.getOr("fused_ops", Names());
  auto at = ops.begin();
  auto take = [&](std::string_view name) {
    bool isThere = at != ops.end() && *at == name;
    at += isThere;
    return isThere;
  };
  if (take("BiasAdd"))
    spec.channels = Channels::Bias;
  else if (take("FusedBatchNorm"))
    spec.channels = Channels::BatchNorm;
  spec.hasSummand = take("Add");
  if (at == ops.end())
    return spec;
  std::optional<Activation> activation = findActivation(*at);
  if (!activation || ++at != ops.end()) {
    std::string list;
    for (const std::string &op : ops)
      list += (list.empty() ? "" : ", ") + op;
    return Unexpected(unimplemented("op '", node.op, "' with fused_ops = [", list,
                                    "]; known are BiasAdd or FusedBatchNorm, Add, and an "
                                    "activation, in this order"));
  }
  spec.activation = *activation;
  return spec;
}

int EpilogueSpec::numArguments() const {
  constexpr int ofChannels[] = {0, 1, 4};
  return ofChannels[static_cast<int>(channels)] + hasSummand;
}

// --- the work ------------------------------------------------------------------------------------

// Of BatchNorm: scale, offset, mean and variance, as one factor and one offset.
template <typename T> void Epilogue::fold(OpContext &ctx, int first) {
  auto scale = ctx.check(Tensor::make(dtypeOf<T>, {&channels, 1}));
  auto shift = ctx.check(Tensor::make(dtypeOf<T>, {&channels, 1}));
  if (!scale || !shift)
    return;
  const T *in[4];
  for (int i = 0; i < 4; ++i)
    in[i] = ctx.input(first + i).data<T>();
  for (int64_t c = 0; c < channels; ++c) {
    double f = in[0][c] / std::sqrt(static_cast<double>(in[3][c]) + spec.epsilon);
    scale->template data<T>()[c] = static_cast<T>(f);
    shift->template data<T>()[c] = static_cast<T>(in[1][c] - in[2][c] * f);
  }
  factor = std::move(*scale);
  offset = std::move(*shift);
}

bool Epilogue::readVectors(OpContext &ctx, int first, DType dtype) {
  int count = spec.numArguments() - spec.hasSummand;
  for (int i = first; i < first + count; ++i) {
    const Tensor &t = ctx.input(i);
    if (t.count() == channels && t.rank() == 1 && t.dtype() == dtype)
      continue;
    ctx.fail(invalidArgument("input ", i, " must be a vector of ", channels,
                             " elements, one a channel, but has shape ", dimsText(t.dims())));
    return false;
  }
  if (spec.channels == EpilogueSpec::Channels::Bias)
    offset = ctx.input(first);
  else if (spec.channels == EpilogueSpec::Channels::BatchNorm)
    dtype == DType::Float32 ? fold<float>(ctx, first) : fold<double>(ctx, first);
  return !ctx.hasFailed();
}

std::optional<Epilogue> Epilogue::of(OpContext &ctx, const EpilogueSpec &spec, int first,
                                     int64_t channels, DType dtype) {
  Epilogue out;
  out.spec = spec;
  out.channels = channels;
  if (ctx.numInputs() < first + spec.numArguments()) {
    ctx.fail(invalidArgument("has ", ctx.numInputs(), " inputs, but its fused_ops ask for ",
                             first + spec.numArguments()));
    return std::nullopt;
  }
  if (!out.readVectors(ctx, first, dtype))
    return std::nullopt;
  if (spec.hasSummand)
    out.added = ctx.input(first + spec.numArguments() - 1);
  return out;
}

namespace {

template <typename T>
void scaleRow(T *x, const T *factor, const T *offset, const T *added, int64_t n) {
  if (factor) {
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      x[i] = x[i] * factor[i] + offset[i];
  } else if (offset) {
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      x[i] += offset[i];
  }
  if (added) {
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      x[i] += added[i];
  }
}

} // namespace

template <typename T>
void Epilogue::apply(T *result, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
  auto from = [](const Tensor &t, int64_t at) { return t ? t.data<T>() + at : nullptr; };
  for (int64_t r = row; r < row + rows; ++r) {
    int64_t at = r * channels + column;
    scaleRow(result + at, from(factor, column), from(offset, column), from(added, at), columns);
    if (columns != channels)
      activate(spec.activation, spec.alpha, result + at, columns);
  }
  if (columns == channels)
    activate(spec.activation, spec.alpha, result + row * channels, rows * channels);
}

#define TREADLE_INSTANTIATE(T)                                                                     \
  template void activate<T>(Activation, float, T *, int64_t);                                      \
  template void Epilogue::apply<T>(T *, int64_t, int64_t, int64_t, int64_t) const;
TREADLE_INSTANTIATE(float)
TREADLE_INSTANTIATE(double)
#undef TREADLE_INSTANTIATE

} // namespace treadle
