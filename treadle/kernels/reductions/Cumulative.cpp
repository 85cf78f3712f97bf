// Cumulative sums, products and log-sum-exps along an axis.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/RunningTotal.h"
#include "treadle/kernels/elementwise/Elementwise.h"

#include <algorithm>
#include <cmath>

namespace treadle {
namespace {

struct CumulativeState {
  bool isExclusive; // element i excludes itself
  bool isReverse;
};

template <typename T> struct RunningSum {
  void take(T x) { total.add(x); }
  T value() const { return total.value(); }

  RunningTotal<T> total;
};

/// Floats of up to 32 bits are multiplied as doubles, since each product is rounded.
template <typename T> struct RunningProduct {
  using Wide = std::conditional_t<isRealFloat<T>, double, T>;

  void take(T x) {
    product = static_cast<Wide>(Widened<Wide>(product) * Widened<Wide>(static_cast<Wide>(x)));
  }
  T value() const { return static_cast<T>(product); }

  Wide product{1};
};

/// log(sum of exp(x)), kept as the largest x and the sum of exp(x - largest).
template <typename T> struct RunningLogSum {
  using C = Computed<T>;

  void take(T next) {
    C x(next);
    if (x == -std::numeric_limits<C>::infinity())
      return;
    if (x > largest) {
      C scale = std::exp(largest - x);
      largest = x;
      C before = sum.value() * scale;
      sum = {};
      sum.add(before);
      sum.add(1);
    } else {
      sum.add(x == largest ? C(1) : std::exp(x - largest));
    }
  }
  T value() const {
    return static_cast<T>(static_cast<double>(largest) +
                          std::log(static_cast<double>(sum.value())));
  }

  C largest = -std::numeric_limits<C>::infinity();
  RunningTotal<C> sum;
};

/// The shape of the tensor as [outer, length, inner], where `length` is the axis.
struct Axis {
  int64_t outer, length, inner;
};

/// Accumulates along the axis, `width` adjacent elements at a time.
template <typename Op, typename T>
void accumulateSome(const T *x, T *out, int64_t length, int64_t step, int64_t width,
                    bool isExclusive, Op *running) {
  for (int64_t k = 0; k < length; ++k, x += step, out += step)
    for (int64_t i = 0; i < width; ++i) {
      if (isExclusive) {
        T before = running[i].value();
        running[i].take(x[i]);
        out[i] = before;
      } else {
        running[i].take(x[i]);
        out[i] = running[i].value();
      }
    }
}

template <typename Op, typename T>
void accumulate(const T *x, T *out, const Axis &axis, const CumulativeState &s) {
  constexpr int64_t most = (16 << 10) / sizeof(Op); // half of a small L1 cache
  int64_t step = s.isReverse ? -axis.inner : axis.inner;
  for (int64_t o = 0; o < axis.outer; ++o) {
    int64_t at = o * axis.length * axis.inner + (s.isReverse ? (axis.length - 1) * axis.inner : 0);
    if (axis.inner == 1) {
      Op running;
      accumulateSome(x + at, out + at, axis.length, step, 1, s.isExclusive, &running);
      continue;
    }
    for (int64_t i = 0; i < axis.inner; i += most) {
      Op running[most];
      accumulateSome(x + at + i, out + at + i, axis.length, step, std::min(most, axis.inner - i),
                     s.isExclusive, running);
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
  BoundKernel bound = TREADLE_TRY(bindChosen<Types>(node, node.inputTypes[0], []<typename T>() {
    return CumulativeOf<Op>::template Kernel<Wrapping<T>>::run;
  }));
  return boundWith(bound.fn, CumulativeState{node.attrs.getOr<bool>("exclusive", false),
                                             node.attrs.getOr<bool>("reverse", false)});
}

const KernelEntry cumulativeTable[] = {
    {"Cumsum", bindCumulative<RunningSum, NumericTypes>},
    {"Cumprod", bindCumulative<RunningProduct, NumericTypes>},
    {"CumulativeLogsumexp", bindCumulative<RunningLogSum, FloatTypes>},
};

} // namespace

std::span<const KernelEntry> cumulativeKernels() { return cumulativeTable; }

} // namespace treadle
