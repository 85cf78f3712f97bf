// Running sums, products and log-sums along an axis.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <cmath>

namespace treadle {
namespace {

struct CumulativeState {
  bool isExclusive; // element i gets what comes before it
  bool isReverse;
};

template <typename T> struct RunningSum {
  static T start() { return T(0); }
  static T next(T a, T b) { return static_cast<T>(Widened<T>(a) + Widened<T>(b)); }
};
template <typename T> struct RunningProduct {
  static T start() { return T(1); }
  static T next(T a, T b) { return static_cast<T>(Widened<T>(a) * Widened<T>(b)); }
};
// log(exp(a) + exp(b)), starting from log 0; every step is rounded to T, as TensorFlow does.
template <typename T> struct RunningLogSum {
  using C = Computed<T>;
  static T start() { return T(-std::numeric_limits<C>::infinity()); }
  static T next(T a, T b) {
    C larger(a), smaller(b);
    if (larger < smaller)
      std::swap(larger, smaller);
    if (smaller == larger && larger == -std::numeric_limits<C>::infinity())
      return a;
    C distance = C(T(smaller - larger));
    C above = C(T(std::log1p(C(T(std::exp(distance))))));
    return T(larger + above);
  }
};

/// The tensor as [outer, length, inner], with `length` the axis.
struct Axis {
  int64_t outer, length, inner;
};

// Goes along the axis row of `inner` by row of `inner`.
template <typename Op, typename T>
void accumulate(const T *x, T *out, const Axis &axis, const CumulativeState &s) {
  int64_t step = s.isReverse ? -axis.inner : axis.inner;
  for (int64_t o = 0; o < axis.outer; ++o) {
    int64_t at = o * axis.length * axis.inner + (s.isReverse ? (axis.length - 1) * axis.inner : 0);
    for (int64_t i = 0; i < axis.inner; ++i)
      out[at + i] = s.isExclusive ? Op::start() : x[at + i];
    for (int64_t k = 1; k < axis.length; ++k, at += step) {
      const T *next = x + at + (s.isExclusive ? 0 : step);
      for (int64_t i = 0; i < axis.inner; ++i)
        out[at + step + i] = Op::next(out[at + i], next[i]);
    }
  }
}

template <template <typename> class Op> struct CumulativeOf {
  template <typename T> struct Kernel {
    static void run(OpContext &ctx) {
      const Tensor in = ctx.input(0);
      const Tensor &axisInput = ctx.input(1);
      if (!axisInput.isScalar())
        return ctx.fail(
            invalidArgument("axis must be a scalar, but has shape ", dimsText(axisInput.dims())));
      int64_t axis = normalizedAxis(indexAt(axisInput, 0), in.rank());
      if (axis < 0)
        return ctx.fail(invalidArgument("axis ", indexAt(axisInput, 0), " is not in [", -in.rank(),
                                        ", ", in.rank(), ")"));
      Tensor *out = ctx.allocateOutput(0, in.dtype(), in.dims());
      if (!out || !out->count())
        return;
      auto a = static_cast<size_t>(axis);
      Axis shape{countBetween(in.dims(), 0, a), in.dim(static_cast<int>(axis)),
                 countBetween(in.dims(), a + 1, in.dims().size())};
      accumulate<Op<T>, T>(in.data<T>(), out->data<T>(), shape, ctx.state<CumulativeState>());
    }
  };
};

template <template <typename> class Op, typename Types>
Expected<BoundKernel> bindCumulative(const BindContext &node) {
  BoundKernel bound;
  if (!visitType(node.inputTypes[0], Types(), [&]<typename T>() {
        bound.fn = CumulativeOf<Op>::template Kernel<Wrapping<T>>::run;
      }))
    return unsupportedDType(node, node.inputTypes[0]);
  bound.state = std::make_shared<const CumulativeState>(CumulativeState{
      node.attrs.getOr<bool>("exclusive", false), node.attrs.getOr<bool>("reverse", false)});
  return bound;
}

const KernelEntry cumulativeTable[] = {
    {"Cumsum", bindCumulative<RunningSum, NumericTypes>},
    {"Cumprod", bindCumulative<RunningProduct, NumericTypes>},
    {"CumulativeLogsumexp", bindCumulative<RunningLogSum, FloatTypes>},
};

} // namespace

std::span<const KernelEntry> cumulativeKernels() { return cumulativeTable; }

} // namespace treadle
