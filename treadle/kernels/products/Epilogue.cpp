#include "treadle/kernels/products/Epilogue.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/Families.h"
#include "treadle/kernels/elementwise/VectorMath.h"
#include "treadle/runtime/RunOp.h"

#include <unsupported/Eigen/SpecialFunctions>

#include <algorithm>
#include <cmath>
#include <functional>

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
    {"Swish", Activation::Swish},
    {"HardSwish", Activation::HardSwish},
    {"HardSigmoid", Activation::HardSigmoid},
};

template <typename T> using Elements = Eigen::Map<Eigen::Array<T, Eigen::Dynamic, 1>>;

// Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016: x times the cumulative distribution
// function of the normal distribution, or an approximation of it.
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

// Comparisons are written so that NaN passes through. Objects instead of functions, so that loops
// inline them.
template <typename T> constexpr auto relu = [](T v) { return v < T(0) ? T(0) : v; };
template <typename T>
constexpr auto relu6 = [](T v) {
  return v < T(0) ? T(0) : v > T(6) ? T(6) : v;
};

template <typename T>
constexpr auto hardSigmoid = [](T v) { return relu6<T>(v + T(3)) * T(1.0 / 6); };

// x / (1 + exp(-x)); if the exponential exceeds a float's range, the product with 0.
constexpr auto swish = [](float v) {
  constexpr float least = -80;
  float bounded = v < least ? least : v > -least ? -least : v;
  return (v < least ? 0 : v) / (1 + vectorExpOfSmall(-bounded)) + (v < least ? v * 0 : 0);
};

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
    return applyEach(x, n, relu<T>);
  case Activation::Relu6:
    return applyEach(x, n, relu6<T>);
  case Activation::Elu:
    if constexpr (std::is_same_v<T, float>)
      return applyEach(x, n, [](T v) { return v < T(0) ? vectorExpm1(v) : v; });
    return applyEach(x, n, [](T v) { return v < T(0) ? std::expm1(v) : v; });
  case Activation::LeakyRelu:
    return applyEach(x, n, [a = T(alpha)](T v) { return v > T(0) ? v : v * a; });
  // Computed like the ops of the same name.
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
  case Activation::Swish:
    if constexpr (std::is_same_v<T, float>)
      return applyEach(x, n, swish);
    Elements<T>(x, n) *= Elements<T>(x, n).logistic();
    return;
  case Activation::HardSwish:
    return applyEach(x, n, [](T v) { return v * hardSigmoid<T>(v); });
  case Activation::HardSigmoid:
    return applyEach(x, n, hardSigmoid<T>);
  }
}

// --- attributes ----------------------------------------------------------------------------------

namespace {

struct NamedStep {
  std::string_view name;
  EpilogueSpec::Step step;
  int arguments;
  bool mustBeFirst;
};
using enum EpilogueSpec::Step;
constexpr NamedStep namedSteps[] = {
    {"BiasAdd", BiasAdd, 1, true},
    {"FusedBatchNorm", BatchNorm, 4, true},
    {"Mul", Mul, 1, false},
    {"Add", Add, 1, false},
};

Error unknownSequence(const BindContext &node, const std::vector<std::string> &ops) {
  std::string list;
  for (const std::string &op : ops)
    list += (list.empty() ? "" : ", ") + op;
  return unimplemented(
      "op '", node.op, "' does not support fused_ops = [", list,
      "]; supported are BiasAdd or FusedBatchNorm, then Mul and Add, then an activation");
}

} // namespace

Expected<EpilogueSpec> EpilogueSpec::of(const BindContext &node) {
  using Names = std::vector<std::string>;
  EpilogueSpec spec;
  spec.epsilon = node.attrs.getOr("epsilon", 0.0001f);
  spec.alpha = node.attrs.getOr("leakyrelu_alpha", 0.2f);
  Names ops = node.attrs.getOr("fused_ops", Names());
  for (size_t i = 0; i < ops.size(); ++i) {
    const auto *named = std::ranges::find(namedSteps, ops[i], &NamedStep::name);
    if (named != std::end(namedSteps) && (i == 0 || !named->mustBeFirst)) {
      spec.steps.push_back(named->step);
      continue;
    }
    std::optional<Activation> activation = findActivation(ops[i]);
    if (!activation || i + 1 < ops.size())
      return Unexpected(unknownSequence(node, ops));
    spec.activation = *activation;
  }
  return spec;
}

int EpilogueSpec::numArguments() const {
  int count = 0;
  for (Step step : steps)
    count += std::ranges::find(namedSteps, step, &NamedStep::step)->arguments;
  return count;
}

// --- arguments -----------------------------------------------------------------------------------

// Converts BatchNorm's scale, offset, mean and variance to one factor and one offset.
template <typename T> bool Epilogue::normalise(OpContext &ctx, int first) {
  auto f = ctx.check(Tensor::make(dtypeOf<T>, {channels}));
  auto o = ctx.check(Tensor::make(dtypeOf<T>, {channels}));
  if (!f || !o)
    return false;
  const T *in[4];
  for (int i = 0; i < 4; ++i)
    in[i] = ctx.input(first + i).data<T>();
  for (int64_t c = 0; c < channels; ++c) {
    double by = in[0][c] / std::sqrt(static_cast<double>(in[3][c]) + epsilon);
    f->template data<T>()[c] = static_cast<T>(by);
    o->template data<T>()[c] = static_cast<T>(in[1][c] - in[2][c] * by);
  }
  factor = std::move(*f);
  offset = std::move(*o);
  return true;
}

namespace {

template <typename T, typename Fn>
std::optional<Tensor> combine(OpContext &ctx, const Tensor &a, const Tensor &b, Fn fn) {
  auto out = ctx.check(Tensor::make(a.dtype(), {a.count()}));
  if (out)
    std::transform(a.data<T>(), a.data<T>() + a.count(), b.data<T>(), out->template data<T>(), fn);
  return out;
}

// Whether `t` has one element per channel, as a vector or with leading dimensions of 1.
bool isOfChannels(const Tensor &t, const EpilogueTarget &target) {
  return target.channelsLast && t.rank() > 0 && t.rank() <= std::ssize(target.dims) &&
         t.count() == target.channels && t.dim(t.rank() - 1) == target.channels;
}

} // namespace

// (x + offset) * by, or x * factor * by.
template <typename T> bool Epilogue::scale(OpContext &ctx, const Tensor &by) {
  for (Tensor *t : {&factor, &offset})
    if (*t) {
      auto product = combine<T>(ctx, *t, by, std::multiplies<T>());
      if (!product)
        return false;
      *t = std::move(*product);
    }
  if (!factor)
    factor = by;
  return true;
}

template <typename T> bool Epilogue::shift(OpContext &ctx, const Tensor &by) {
  if (!offset) {
    offset = by;
    return true;
  }
  auto sum = combine<T>(ctx, offset, by, std::plus<T>());
  if (sum)
    offset = std::move(*sum);
  return sum.has_value();
}

bool Epilogue::readStep(OpContext &ctx, EpilogueSpec::Step step, int &input,
                        const EpilogueTarget &target) {
  bool isFloat = target.dtype == DType::Float32;
  int count = std::ranges::find(namedSteps, step, &NamedStep::step)->arguments, first = input;
  input += count;
  if (step == BiasAdd || step == BatchNorm) {
    for (int i = first; i < input; ++i)
      if (const Tensor &t = ctx.input(i); t.rank() != 1 || t.count() != channels) {
        ctx.fail(invalidArgument("input ", i, " must be a vector of ", channels,
                                 " elements, one per channel, but has shape ", dimsText(t.dims())));
        return false;
      }
    if (step == BatchNorm)
      return isFloat ? normalise<float>(ctx, first) : normalise<double>(ctx, first);
    offset = ctx.input(first);
    return true;
  }
  Tensor by = ctx.takeInput(first);
  bool isEarly = deferred.empty() && !added;
  if (isEarly && isOfChannels(by, target)) {
    if (step == Mul)
      return isFloat ? scale<float>(ctx, by) : scale<double>(ctx, by);
    return isFloat ? shift<float>(ctx, by) : shift<double>(ctx, by);
  }
  if (isEarly && step == Add && std::ranges::equal(by.dims(), target.dims))
    added = std::move(by);
  else
    deferred.push_back({step, std::move(by)});
  return true;
}

std::optional<Epilogue> Epilogue::of(OpContext &ctx, const EpilogueSpec &spec, int first,
                                     const EpilogueTarget &target) {
  Epilogue out;
  out.channels = target.channels;
  out.epsilon = spec.epsilon;
  out.alpha = spec.alpha;
  out.activation = spec.activation;
  int wanted = first + spec.numArguments();
  if (ctx.numInputs() < wanted) {
    ctx.fail(invalidArgument("has ", ctx.numInputs(), " inputs, but its fused_ops need ", wanted));
    return std::nullopt;
  }
  for (int i = first; i < wanted; ++i)
    if (const Tensor &t = ctx.input(i); t.dtype() != target.dtype) {
      ctx.fail(invalidArgument("input ", i, " is ", tensorTypeText(t), ", expected ",
                               dtypeName(target.dtype)));
      return std::nullopt;
    }
  int input = first;
  for (EpilogueSpec::Step step : spec.steps)
    if (!out.readStep(ctx, step, input, target))
      return std::nullopt;
  if (!out.deferred.empty() && !target.channelsLast) {
    ctx.fail(invalidArgument("an addend must have the shape of the result, ", dimsText(target.dims),
                             ", but one has ", dimsText(out.deferred.front().argument.dims())));
    return std::nullopt;
  }
  return out;
}

// --- application ---------------------------------------------------------------------------------

bool Epilogue::finish(OpContext &ctx, Tensor &result) const {
  if (deferred.empty())
    return true;
  for (const DeferredStep &l : deferred) {
    AttrMap attrs;
    attrs.set("T", TypeAttr{result.dtype()});
    auto out = ctx.check(runOp({elementwiseArithmeticKernels}, l.step == Mul ? "Mul" : "AddV2",
                               attrs, {std::move(result), l.argument}, {l.argument.dtype()}));
    if (!out)
      return false;
    result = std::move(out->front());
  }
  if (!result.isUnique()) {
    auto copy = ctx.check(result.clone());
    if (!copy)
      return false;
    result = std::move(*copy);
  }
  if (result.dtype() == DType::Float32)
    activate(activation, alpha, result.data<float>(), result.count());
  else
    activate(activation, alpha, result.data<double>(), result.count());
  return true;
}

namespace {

/// Computes x = last(x * factor + offset + added), with those terms that are present.
template <typename T, typename Last>
void scaleRow(T *x, const T *factor, const T *offset, const T *added, int64_t n, Last last) {
  auto each = [&](auto fn) {
    TREADLE_VECTORISE
    for (int64_t i = 0; i < n; ++i)
      x[i] = fn(i);
  };
  auto then = [&](auto scaled) {
    if (added)
      each([&](int64_t i) { return last(scaled(i) + added[i]); });
    else
      each([&](int64_t i) { return last(scaled(i)); });
  };
  if (factor && offset)
    then([&](int64_t i) { return x[i] * factor[i] + offset[i]; });
  else if (factor)
    then([&](int64_t i) { return x[i] * factor[i]; });
  else if (offset)
    then([&](int64_t i) { return x[i] + offset[i]; });
  else
    then([&](int64_t i) { return x[i]; });
}

} // namespace

template <typename T>
void Epilogue::apply(T *result, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
  auto from = [](const Tensor &t, int64_t at) { return t ? t.data<T>() + at : nullptr; };
  auto scale = [&](auto last, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      int64_t at = r * channels + column;
      scaleRow(result + at, from(factor, column), from(offset, column), from(added, at), columns,
               last);
    }
  };
  Activation last = lastActivation();
  if (last == Activation::Relu)
    return scale(relu<T>, row, row + rows);
  if (last == Activation::Relu6)
    return scale(relu6<T>, row, row + rows);
  // Applies the terms to a few rows at a time, which are still in the cache for the activation.
  constexpr int64_t elementsNear = 4096;
  int64_t some = std::max<int64_t>(elementsNear / std::max<int64_t>(columns, 1), 1);
  for (int64_t begin = row; begin < row + rows; begin += some) {
    int64_t end = std::min(begin + some, row + rows);
    scale([](T v) { return v; }, begin, end);
    if (columns == channels)
      activate(last, alpha, result + begin * channels, (end - begin) * channels);
    else
      for (int64_t r = begin; r < end; ++r)
        activate(last, alpha, result + r * channels + column, columns);
  }
}

#define TREADLE_INSTANTIATE(T)                                                                     \
  template void activate<T>(Activation, float, T *, int64_t);                                      \
  template void Epilogue::apply<T>(T *, int64_t, int64_t, int64_t, int64_t) const;
TREADLE_INSTANTIATE(float)
TREADLE_INSTANTIATE(double)
#undef TREADLE_INSTANTIATE

} // namespace treadle
