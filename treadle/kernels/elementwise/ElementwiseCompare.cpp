// Comparisons and logic.
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/Quantized.h"

#include <cmath>

namespace treadle {
namespace {

#define TREADLE_COMPARISON(Name, op)                                                               \
  struct Name {                                                                                    \
    template <typename T> static bool apply(const T &a, const T &b) { return a op b; }             \
  };
TREADLE_COMPARISON(LessOp, <)
TREADLE_COMPARISON(LessEqualOp, <=)
TREADLE_COMPARISON(GreaterOp, >)
TREADLE_COMPARISON(GreaterEqualOp, >=)
TREADLE_COMPARISON(EqualOp, ==)
TREADLE_COMPARISON(NotEqualOp, !=)
#undef TREADLE_COMPARISON

// Not the short-circuit operators: loops without branches are vectorized.
struct LogicalAndOp {
  static bool apply(bool a, bool b) { return a & b; }
};
struct LogicalOrOp {
  static bool apply(bool a, bool b) { return a | b; }
};
struct LogicalNotOp {
  static bool apply(bool a) { return !a; }
};

using EqualityTypes = Join<PlainTypes, TypeList<std::string>>;

// Equal and NotEqual of incompatible shapes, if the node asks for no error: unequal.
template <typename Op, typename T> struct MismatchTolerantKernel {
  static bool areBroadcastable(Dims a, Dims b) {
    size_t common = std::min(a.size(), b.size());
    for (size_t i = 1; i <= common; ++i) {
      int64_t x = a[a.size() - i], y = b[b.size() - i];
      if (x != y && x != 1 && y != 1)
        return false;
    }
    return true;
  }
  static void run(OpContext &ctx) {
    if (areBroadcastable(ctx.input(0).dims(), ctx.input(1).dims()))
      return BinaryKernel<Op, T>::run(ctx);
    ctx.setOutput(0, Tensor::scalar<bool>(DType::Bool, Op::apply(0, 1)));
  }
};

template <typename Op> Expected<BoundKernel> bindEquality(const BindContext &node) {
  bool isLenient = !node.attrs.getOr<bool>("incompatible_shape_error", true);
  BoundKernel bound;
  auto bind = [&]<typename T>() {
    bound.fn = isLenient ? MismatchTolerantKernel<Op, T>::run : BinaryKernel<Op, T>::run;
  };
  DType dtype = node.inputTypes[0];
  if (!visitType(dtype, EqualityTypes(), bind) && !visitQuantized(dtype, bind))
    return unsupportedDType(node, dtype);
  return bound;
}

// --- ApproximateEqual --------------------------------------------------------------------------

template <typename T> struct ApproximateEqualKernel {
  static void run(OpContext &ctx) {
    const Tensor &a = ctx.input(0), &b = ctx.input(1);
    if (!std::ranges::equal(a.dims(), b.dims()))
      return ctx.fail(invalidArgument("x and y must be of the same shape: ", dimsText(a.dims()),
                                      " vs. ", dimsText(b.dims())));
    const T tolerance = static_cast<T>(ctx.state<float>());
    const T *x = a.data<T>(), *y = b.data<T>();
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Bool, a.dims()));
    bool *result = out->data<bool>();
    for (int64_t i = 0, n = out->count(); i < n; ++i)
      result[i] = std::abs(x[i] - y[i]) < tolerance;
  }
};

Expected<BoundKernel> bindApproximateEqual(const BindContext &node) {
  return withState(bindByType<ApproximateEqualKernel, TypeList<float, double>>(node),
                   node.attrs.getOr<float>("tolerance", 1e-5f));
}

const KernelEntry elementwiseCompareTable[] = {
    {"Less", bindBinary<LessOp, RealTypes>},
    {"LessEqual", bindBinary<LessEqualOp, RealTypes>},
    {"Greater", bindBinary<GreaterOp, RealTypes>},
    {"GreaterEqual", bindBinary<GreaterEqualOp, RealTypes>},
    {"Equal", bindEquality<EqualOp>},
    {"NotEqual", bindEquality<NotEqualOp>},
    {"LogicalAnd", bindBinary<LogicalAndOp, TypeList<bool>>},
    {"LogicalOr", bindBinary<LogicalOrOp, TypeList<bool>>},
    {"LogicalNot", bindUnary<LogicalNotOp, TypeList<bool>>},
    {"ApproximateEqual", bindApproximateEqual},
};

} // namespace

std::span<const KernelEntry> elementwiseCompareKernels() { return elementwiseCompareTable; }

} // namespace treadle
