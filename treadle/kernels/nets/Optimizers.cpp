// Optimizer steps: one update rule each, and one table line for each op that applies it.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/nets/Optimizer.h"

namespace treadle {
namespace {

using Eigen::numext::abs;
using Eigen::numext::exp;
using Eigen::numext::maxi;
using Eigen::numext::mini;
using Eigen::numext::pow;
using Eigen::numext::sqrt;

template <typename T> T squared(T x) { return x * x; }
template <typename T> T signOf(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : T(0); }
template <typename T> T reciprocalRoot(T x) { return T(1) / sqrt(x); }

// --- rules -------------------------------------------------------------------------------------
// A rule is constructed from the op's scalars in their order and from its flags, and then applied
// to element `i` of the variables `v` and of the gradient.

struct Flags {
  bool usesNesterov = false, updatesSlots = true, multipliesLinear = false;
};

template <typename T> struct GradientDescent {
  static constexpr int variables = 1;
  T rate;
  GradientDescent(const T *s, Flags) : rate(s[0]) {}
  void operator()(T *const *v, int64_t i, T g) const { v[0][i] -= g * rate; }
};

template <typename T> struct Momentum {
  static constexpr int variables = 2;
  T rate, momentum;
  bool nesterov;
  Momentum(const T *s, Flags flags) : rate(s[0]), momentum(s[1]), nesterov(flags.usesNesterov) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] = v[1][i] * momentum + g;
    v[0][i] -= nesterov ? g * rate + v[1][i] * momentum * rate : v[1][i] * rate;
  }
};

template <typename T> struct KerasMomentum {
  static constexpr int variables = 2;
  T rate, momentum;
  bool nesterov;
  KerasMomentum(const T *s, Flags flags)
      : rate(s[0]), momentum(s[1]), nesterov(flags.usesNesterov) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] = v[1][i] * momentum - g * rate;
    v[0][i] += nesterov ? v[1][i] * momentum - g * rate : v[1][i];
  }
};

template <typename T> struct Adam {
  static constexpr int variables = 3;
  T rate, beta1, beta2, epsilon;
  bool nesterov;
  Adam(const T *s, Flags flags)
      : rate(s[2] * sqrt(T(1) - s[1]) / (T(1) - s[0])), beta1(s[3]), beta2(s[4]), epsilon(s[5]),
        nesterov(flags.usesNesterov) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] += (g - v[1][i]) * (T(1) - beta1);
    v[2][i] += (squared(g) - v[2][i]) * (T(1) - beta2);
    T mean = nesterov ? g * (T(1) - beta1) + beta1 * v[1][i] : v[1][i];
    v[0][i] -= mean * rate / (sqrt(v[2][i]) + epsilon);
  }
};

template <typename T> struct AdamWithAmsgrad {
  static constexpr int variables = 4;
  T rate, beta1, beta2, epsilon;
  AdamWithAmsgrad(const T *s, Flags)
      : rate(s[2] * sqrt(T(1) - s[1]) / (T(1) - s[0])), beta1(s[3]), beta2(s[4]), epsilon(s[5]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] += (g - v[1][i]) * (T(1) - beta1);
    v[2][i] += (squared(g) - v[2][i]) * (T(1) - beta2);
    v[3][i] = maxi(v[3][i], v[2][i]);
    v[0][i] -= v[1][i] * rate / (sqrt(v[3][i]) + epsilon);
  }
};

template <typename T> struct AdaMax {
  static constexpr int variables = 3;
  T rate, beta1, beta2, epsilon;
  AdaMax(const T *s, Flags) : rate(s[1] / (T(1) - s[0])), beta1(s[2]), beta2(s[3]), epsilon(s[4]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] += (g - v[1][i]) * (T(1) - beta1);
    v[2][i] = maxi(T(beta2 * v[2][i]), T(abs(g)));
    v[0][i] -= rate * (v[1][i] / (v[2][i] + epsilon));
  }
};

template <typename T> struct Adagrad {
  static constexpr int variables = 2;
  T rate;
  bool updatesSlots;
  Adagrad(const T *s, Flags flags) : rate(s[0]), updatesSlots(flags.updatesSlots) {}
  void operator()(T *const *v, int64_t i, T g) const {
    if (updatesSlots)
      v[1][i] += squared(g);
    v[0][i] -= g * rate * reciprocalRoot(v[1][i]);
  }
};

template <typename T> struct AdagradV2 {
  static constexpr int variables = 2;
  T rate, epsilon;
  bool updatesSlots;
  AdagradV2(const T *s, Flags flags)
      : rate(s[0]), epsilon(s[1]), updatesSlots(flags.updatesSlots) {}
  void operator()(T *const *v, int64_t i, T g) const {
    if (updatesSlots)
      v[1][i] += squared(g);
    v[0][i] -= g * rate / (sqrt(v[1][i]) + epsilon);
  }
};

template <typename T> struct AdagradDualAveraging {
  static constexpr int variables = 3;
  T rate, l1, l2, step;
  AdagradDualAveraging(const T *s, Flags) : rate(s[0]), l1(s[1]), l2(s[2]), step(s[3]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] += g;
    v[2][i] += squared(g);
    T sum = v[1][i];
    if (l1 > T(0))
      sum = signOf(sum) * maxi(T(abs(sum) - l1 * step), T(0));
    v[0][i] = -rate * sum / (l2 * step * rate + sqrt(v[2][i]));
  }
};

template <typename T> struct Adadelta {
  static constexpr int variables = 3;
  T rate, rho, epsilon;
  Adadelta(const T *s, Flags) : rate(s[0]), rho(s[1]), epsilon(s[2]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] = v[1][i] * rho + squared(g) * (T(1) - rho);
    T update = sqrt(v[2][i] + epsilon) * reciprocalRoot(T(v[1][i] + epsilon)) * g;
    v[0][i] -= update * rate;
    v[2][i] = v[2][i] * rho + squared(update) * (T(1) - rho);
  }
};

template <typename T> struct RmsProp {
  static constexpr int variables = 3;
  T rate, rho, momentum, epsilon;
  RmsProp(const T *s, Flags) : rate(s[0]), rho(s[1]), momentum(s[2]), epsilon(s[3]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] += (squared(g) - v[1][i]) * (T(1) - rho);
    v[2][i] = v[2][i] * momentum + g * rate / sqrt(v[1][i] + epsilon);
    v[0][i] -= v[2][i];
  }
};

template <typename T> struct CenteredRmsProp {
  static constexpr int variables = 4; // variable, mean gradient, mean square, momentum
  T rate, rho, momentum, epsilon;
  CenteredRmsProp(const T *s, Flags) : rate(s[0]), rho(s[1]), momentum(s[2]), epsilon(s[3]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[2][i] += (squared(g) - v[2][i]) * (T(1) - rho);
    v[1][i] += (g - v[1][i]) * (T(1) - rho);
    T variance = v[2][i] - squared(v[1][i]) + epsilon;
    v[3][i] = v[3][i] * momentum + g * rate / sqrt(variance);
    v[0][i] -= v[3][i];
  }
};

// Follow the regularized leader. The second version also shrinks the gradient, by one more scalar.
template <typename T, bool shrinks> struct FtrlRule {
  static constexpr int variables = 3; // variable, sum of squares, linear term
  T rate, l1, l2, shrinkage, power;
  bool multiplies;
  FtrlRule(const T *s, Flags flags)
      : rate(s[0]), l1(s[1]), l2(s[2]), shrinkage(shrinks ? s[3] : T(0)), power(s[shrinks ? 4 : 3]),
        multiplies(flags.multipliesLinear) {}
  T powered(T sum) const { return power == T(-0.5) ? T(sqrt(sum)) : T(pow(sum, T(-power))); }
  void operator()(T *const *v, int64_t i, T g) const {
    T sum = v[1][i] + squared(g);
    T after = powered(sum), change = after - powered(v[1][i]);
    T shrunk = g + T(2) * shrinkage * v[0][i];
    // Either everything is divided by the rate, or the linear term is multiplied by it.
    T scale = multiplies ? rate : T(1), divisor = multiplies ? T(1) : rate;
    v[2][i] += shrunk * scale - change / divisor * v[0][i];
    T limit = l1 * scale, clipped = mini(maxi(v[2][i], T(-limit)), limit);
    v[0][i] = (clipped - v[2][i]) / (after / divisor + T(2) * l2 * scale);
    v[1][i] = sum;
  }
};
template <typename T> using Ftrl = FtrlRule<T, false>;
template <typename T> using FtrlV2 = FtrlRule<T, true>;

template <typename T> struct AddSign {
  static constexpr int variables = 2;
  T rate, alpha, decay, beta;
  AddSign(const T *s, Flags) : rate(s[0]), alpha(s[1]), decay(s[2]), beta(s[3]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] = v[1][i] * beta + g * (T(1) - beta);
    v[0][i] -= rate * (alpha + decay * signOf(g) * signOf(v[1][i])) * g;
  }
};

template <typename T> struct PowerSign {
  static constexpr int variables = 2;
  T rate, logBase, decay, beta;
  PowerSign(const T *s, Flags) : rate(s[0]), logBase(s[1]), decay(s[2]), beta(s[3]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] = v[1][i] * beta + g * (T(1) - beta);
    v[0][i] -= rate * exp(T(logBase * decay * signOf(g) * signOf(v[1][i]))) * g;
  }
};

template <typename T> T proximal(T x, T rate, T l1, T l2) {
  T shrunk = l1 > T(0) ? T(signOf(x) * maxi(T(abs(x) - rate * l1), T(0))) : x;
  return shrunk / (T(1) + l2 * rate);
}

template <typename T> struct ProximalGradientDescent {
  static constexpr int variables = 1;
  T rate, l1, l2;
  ProximalGradientDescent(const T *s, Flags) : rate(s[0]), l1(s[1]), l2(s[2]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[0][i] = proximal(T(v[0][i] - g * rate), rate, l1, l2);
  }
};

template <typename T> struct ProximalAdagrad {
  static constexpr int variables = 2;
  T rate, l1, l2;
  ProximalAdagrad(const T *s, Flags) : rate(s[0]), l1(s[1]), l2(s[2]) {}
  void operator()(T *const *v, int64_t i, T g) const {
    v[1][i] += squared(g);
    T own = rate * reciprocalRoot(v[1][i]);
    v[0][i] = proximal(T(v[0][i] - g * own), own, l1, l2);
  }
};

// --- kernels -----------------------------------------------------------------------------------

struct StepState {
  OptimizerLayout layout;
  Flags flags;
};

constexpr int maxScalars = 8;

template <typename T> void readScalars(OpContext &ctx, const OptimizerLayout &layout, T *scalars) {
  int count = 0;
  for (int i = layout.variables; i < ctx.numInputs() && count < maxScalars; ++i) {
    const Tensor &t = ctx.input(i);
    if (i == layout.gradient || (layout.isSparse && i == layout.gradient + 1))
      continue;
    scalars[count++] =
        t.dtype() == dtypeOf<T> ? t.scalarValue<T>() : T(static_cast<float>(indexAt(t, 0)));
  }
}

template <typename T, typename Rule>
void applyRule(OpContext &ctx, const OptimizerLayout &layout, const Rule &rule,
               OptimizerVariables &variables) {
  T *slots[OptimizerVariables::maxCount];
  for (int i = 0; i < layout.variables; ++i)
    slots[i] = variables[i].template data<T>();
  const Tensor &gradient = ctx.input(layout.gradient);
  const T *g = gradient.data<T>();
  if (!layout.isSparse) {
    for (int64_t i = 0; i < gradient.count(); ++i)
      rule(slots, i, g[i]);
    return;
  }
  const Tensor &rows = ctx.input(layout.gradient + 1);
  int64_t width = countBetween(gradient.dims(), 1, gradient.dims().size());
  for (int64_t r = 0; r < rows.count(); ++r, g += width)
    for (int64_t at = indexAt(rows, r) * width, i = 0; i < width; ++i)
      rule(slots, at + i, g[i]);
}

template <template <typename> class Rule, typename T> void step(OpContext &ctx) {
  const auto &[layout, flags] = ctx.state<StepState>();
  if (!checkScalars(ctx, layout))
    return;
  {
    OptimizerVariables variables(ctx, layout.variables, dtypeOf<T>);
    if (!variables.isOpen() || !checkGradient(ctx, layout, variables[0]))
      return;
    T scalars[maxScalars] = {};
    readScalars(ctx, layout, scalars);
    applyRule<T>(ctx, layout, Rule<T>(scalars, flags), variables);
  }
  passReference(ctx);
}

enum class UpdatedRows : bool { All, Some };

template <template <typename> class Rule, int gradient, UpdatedRows rows, typename Types>
Expected<BoundKernel> bindRule(const BindContext &node) {
  DType dtype = node.inputTypes[gradient];
  KernelFn fn = nullptr;
  if (!visitType(dtype, Types(), [&]<typename T>() { fn = step<Rule, T>; }))
    return unsupportedDType(node, dtype);
  Flags flags{.usesNesterov = node.attrs.getOr("use_nesterov", false),
              .updatesSlots = node.attrs.getOr("update_slots", true),
              .multipliesLinear = node.attrs.getOr("multiply_linear_by_lr", false)};
  OptimizerLayout layout{Rule<float>::variables, gradient, rows == UpdatedRows::Some};
  return takingRefs(boundWith(fn, StepState{layout, flags}));
}

template <template <typename> class Rule, int gradient, typename Types = FloatTypes>
constexpr BindFn dense = bindRule<Rule, gradient, UpdatedRows::All, Types>;
template <template <typename> class Rule, int gradient, typename Types = FloatTypes>
constexpr BindFn sparse = bindRule<Rule, gradient, UpdatedRows::Some, Types>;
using Linear = Join<FloatTypes, ComplexTypes>; // for rules without roots and signs

// The numbers are the indices of the gradient inputs.
const KernelEntry optimizerTable[] = {
    {"ApplyAdaMax", dense<AdaMax, 8>},
    {"ApplyAdadelta", dense<Adadelta, 6>},
    {"ApplyAdagrad", dense<Adagrad, 3>},
    {"ApplyAdagradDA", dense<AdagradDualAveraging, 3>},
    {"ApplyAdagradV2", dense<AdagradV2, 4>},
    {"ApplyAdam", dense<Adam, 9>},
    {"ApplyAddSign", dense<AddSign, 6>},
    {"ApplyCenteredRMSProp", dense<CenteredRmsProp, 8>},
    {"ApplyFtrl", dense<Ftrl, 3>},
    {"ApplyFtrlV2", dense<FtrlV2, 3>},
    {"ApplyGradientDescent", dense<GradientDescent, 2, Linear>},
    {"ApplyMomentum", dense<Momentum, 3, Linear>},
    {"ApplyPowerSign", dense<PowerSign, 6>},
    {"ApplyProximalAdagrad", dense<ProximalAdagrad, 5>},
    {"ApplyProximalGradientDescent", dense<ProximalGradientDescent, 4>},
    {"ApplyRMSProp", dense<RmsProp, 7>},
    {"ResourceApplyAdaMax", dense<AdaMax, 8>},
    {"ResourceApplyAdadelta", dense<Adadelta, 6>},
    {"ResourceApplyAdagrad", dense<Adagrad, 3>},
    {"ResourceApplyAdagradDA", dense<AdagradDualAveraging, 3>},
    {"ResourceApplyAdagradV2", dense<AdagradV2, 4>},
    {"ResourceApplyAdam", dense<Adam, 9>},
    {"ResourceApplyAdamWithAmsgrad", dense<AdamWithAmsgrad, 10>},
    {"ResourceApplyAddSign", dense<AddSign, 6>},
    {"ResourceApplyCenteredRMSProp", dense<CenteredRmsProp, 8>},
    {"ResourceApplyFtrl", dense<Ftrl, 3>},
    {"ResourceApplyFtrlV2", dense<FtrlV2, 3>},
    {"ResourceApplyGradientDescent", dense<GradientDescent, 2, Linear>},
    {"ResourceApplyKerasMomentum", dense<KerasMomentum, 3, Linear>},
    {"ResourceApplyMomentum", dense<Momentum, 3, Linear>},
    {"ResourceApplyPowerSign", dense<PowerSign, 6>},
    {"ResourceApplyProximalAdagrad", dense<ProximalAdagrad, 5>},
    {"ResourceApplyProximalGradientDescent", dense<ProximalGradientDescent, 4>},
    {"ResourceApplyRMSProp", dense<RmsProp, 7>},
    {"ResourceSparseApplyAdadelta", sparse<Adadelta, 6>},
    {"ResourceSparseApplyAdagrad", sparse<Adagrad, 3>},
    {"ResourceSparseApplyAdagradDA", sparse<AdagradDualAveraging, 3>},
    {"ResourceSparseApplyAdagradV2", sparse<AdagradV2, 4>},
    {"ResourceSparseApplyCenteredRMSProp", sparse<CenteredRmsProp, 8>},
    {"ResourceSparseApplyFtrl", sparse<Ftrl, 3>},
    {"ResourceSparseApplyFtrlV2", sparse<FtrlV2, 3>},
    {"ResourceSparseApplyKerasMomentum", sparse<KerasMomentum, 3>},
    {"ResourceSparseApplyMomentum", sparse<Momentum, 3>},
    {"ResourceSparseApplyProximalAdagrad", sparse<ProximalAdagrad, 5>},
    {"ResourceSparseApplyProximalGradientDescent", sparse<ProximalGradientDescent, 4>},
    {"ResourceSparseApplyRMSProp", sparse<RmsProp, 7>},
    {"SparseApplyAdadelta", sparse<Adadelta, 6>},
    {"SparseApplyAdagrad", sparse<Adagrad, 3>},
    {"SparseApplyAdagradDA", sparse<AdagradDualAveraging, 3>},
    {"SparseApplyAdagradV2", sparse<AdagradV2, 4>},
    {"SparseApplyCenteredRMSProp", sparse<CenteredRmsProp, 8>},
    {"SparseApplyFtrl", sparse<Ftrl, 3>},
    {"SparseApplyFtrlV2", sparse<FtrlV2, 3>},
    {"SparseApplyMomentum", sparse<Momentum, 3>},
    {"SparseApplyProximalAdagrad", sparse<ProximalAdagrad, 5>},
    {"SparseApplyProximalGradientDescent", sparse<ProximalGradientDescent, 4>},
    {"SparseApplyRMSProp", sparse<RmsProp, 7>},
};

} // namespace

std::span<const KernelEntry> optimizerKernels() { return optimizerTable; }

} // namespace treadle
