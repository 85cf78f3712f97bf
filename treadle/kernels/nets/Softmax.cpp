// Softmax and the cross entropies of logits.
#include "treadle/kernels/RunningTotal.h"
#include "treadle/kernels/elementwise/Broadcast.h"
#include "treadle/kernels/elementwise/Elementwise.h"
#include "treadle/kernels/elementwise/VectorMath.h"
#include "treadle/kernels/reductions/SegmentRows.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace treadle {
namespace {

// The largest element of a row, and the sum of exp(x - largest).
template <typename T> struct RowSum {
  using C = Computed<T>;
  C largest, sum;
  RowSum(const T *x, int64_t n) : largest(-std::numeric_limits<C>::infinity()) {
    for (int64_t i = 0; i < n; ++i)
      largest = C(x[i]) > largest ? C(x[i]) : largest;
    RunningTotal<C> total;
    for (int64_t i = 0; i < n; ++i)
      total.add(std::exp(C(x[i]) - largest));
    sum = total.value();
  }
  C probability(T x) const { return std::exp(C(x) - largest) / sum; }
  C logProbability(T x) const { return C(x) - largest - std::log(sum); }
};

template <typename T> void softmaxRow(const T *x, T *out, int64_t n) {
  using C = Computed<T>;
  RowSum<T> row(x, n);
  const C scale = 1 / row.sum;
  for (int64_t i = 0; i < n; ++i)
    out[i] = T(std::exp(C(x[i]) - row.largest) * scale);
}
template <> void softmaxRow<float>(const float *x, float *out, int64_t n) {
  constexpr int64_t block = 2048;
  const float largest = largestOf(x, n);
  RunningTotal<float> sum;
  for (int64_t i = 0; i < n; i += block)
    sum.add(expAndSum(x + i, largest, out + i, std::min(block, n - i)));
  const float scale = 1 / sum.value();
  for (int64_t i = 0; i < n; ++i)
    out[i] *= scale;
}
template <typename T> void logSoftmaxRow(const T *x, T *out, int64_t n) {
  RowSum<T> row(x, n);
  const Computed<T> shift = std::log(row.sum);
  for (int64_t i = 0; i < n; ++i)
    out[i] = T(Computed<T>(x[i]) - row.largest - shift);
}

template <bool isLog> struct SoftmaxOf {
  template <typename T> struct Kernel {
    static void run(OpContext &ctx) {
      const Tensor &logits = ctx.input(0);
      if (logits.rank() < 1)
        return ctx.fail(invalidArgument("logits must have rank 1 or more, but is a scalar"));
      const T *x = logits.data<T>();
      int64_t n = logits.dim(logits.rank() - 1), rows = n ? logits.count() / n : 0;
      Tensor *out =
          TREADLE_OR_RETURN(ctx.reuseInputOrAllocate(0, 0, logits.dtype(), logits.dims()));
      T *result = out->data<T>();
      ctx.parallelFor(rows, 10.0 * static_cast<double>(n), [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r)
          (isLog ? logSoftmaxRow<T> : softmaxRow<T>)(x + r * n, result + r * n, n);
      });
    }
  };
};

// --- cross entropies -----------------------------------------------------------------------------

// Loss and gradient for a distribution of labels per row. Logits and labels may be broadcast.
template <typename T> struct CrossEntropyKernel {
  using C = Computed<T>;

  static void run(OpContext &ctx) {
    const Tensor logits = ctx.input(0), labels = ctx.input(1);
    BroadcastPlan<2> plan;
    if (!planBroadcast<2>({logits.dims(), labels.dims()}, plan) || plan.rank != 2)
      return ctx.fail(invalidArgument("logits ", dimsText(logits.dims()), " and labels ",
                                      dimsText(labels.dims()),
                                      " must be matrices of one shape, or broadcast to that"));
    int64_t rows = plan.dims[0], n = plan.dims[1];
    Tensor *loss = ctx.allocateOutput(0, logits.dtype(), {rows});
    Tensor *gradient = ctx.allocateOutput(1, logits.dtype(), {rows, n});
    if (!loss || !gradient || !rows)
      return;
    if (n == 0)
      return ctx.fail(invalidArgument("there must be at least one class, but logits have shape ",
                                      dimsText(logits.dims())));
    std::vector<T> x(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; ++i)
        x[static_cast<size_t>(i)] = at(logits, r, i);
      loss->data<T>()[r] = rowOf(x, labels, r, gradient->data<T>() + r * n);
    }
  }

  static T rowOf(const std::vector<T> &x, const Tensor &labels, int64_t r, T *gradient) {
    auto n = static_cast<int64_t>(x.size());
    RowSum<T> row(x.data(), n);
    C sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      T logit = x[static_cast<size_t>(i)];
      C label(at(labels, r, i));
      if (label != 0) // an infinite loss at a zero label doesn't count
        sum -= label * row.logProbability(logit);
      gradient[i] = T(row.probability(logit) - label);
    }
    return T(sum);
  }

  static T at(const Tensor &t, int64_t row, int64_t column) {
    int rank = t.rank();
    int64_t n = rank ? t.dim(rank - 1) : 1;
    int64_t r = rank == 2 && t.dim(0) > 1 ? row : 0;
    return t.data<T>()[r * n + (n > 1 ? column : 0)];
  }
};

// Loss and gradient for one label per row, given by its index.
template <typename T> struct SparseCrossEntropyKernel {
  static bool check(OpContext &ctx, const Tensor &logits, const Tensor &labels) {
    if (logits.rank() != 2 || labels.rank() != 1 || logits.dim(0) != labels.dim(0)) {
      ctx.fail(invalidArgument("logits must be a matrix and labels a vector with one element per "
                               "row, but they have shapes ",
                               dimsText(logits.dims()), " and ", dimsText(labels.dims())));
      return false;
    }
    if (logits.dim(1) == 0) {
      ctx.fail(invalidArgument("there must be at least one class, but logits have shape ",
                               dimsText(logits.dims())));
      return false;
    }
    IdList ids(labels);
    for (int64_t i = 0; i < labels.count(); ++i)
      if (ids[i] < 0 || ids[i] >= logits.dim(1)) {
        ctx.fail(invalidArgument("labels[", i, "] = ", ids[i], " is outside the range [0, ",
                                 logits.dim(1), ") of the logits' classes"));
        return false;
      }
    return true;
  }

  static void run(OpContext &ctx) {
    const Tensor logits = ctx.input(0), labels = ctx.input(1);
    if (!check(ctx, logits, labels))
      return;
    int64_t n = logits.dim(1);
    Tensor *loss = ctx.allocateOutput(0, logits.dtype(), {labels.count()});
    Tensor *gradient = ctx.allocateOutput(1, logits.dtype(), logits.dims());
    if (!loss || !gradient)
      return;
    IdList ids(labels);
    for (int64_t r = 0; r < labels.count(); ++r) {
      const T *x = logits.data<T>() + r * n;
      T *g = gradient->data<T>() + r * n;
      RowSum<T> row(x, n);
      for (int64_t i = 0; i < n; ++i)
        g[i] = T(row.probability(x[i]) - Computed<T>(i == ids[r]));
      loss->data<T>()[r] = T(-row.logProbability(x[ids[r]]));
    }
  }
};

const KernelEntry softmaxTable[] = {
    {"Softmax", bindByType<SoftmaxOf<false>::Kernel, FloatTypes>},
    {"LogSoftmax", bindByType<SoftmaxOf<true>::Kernel, FloatTypes>},
    {"SoftmaxCrossEntropyWithLogits", bindByType<CrossEntropyKernel, FloatTypes>},
    {"SparseSoftmaxCrossEntropyWithLogits", bindByType<SparseCrossEntropyKernel, FloatTypes>},
};

} // namespace

std::span<const KernelEntry> softmaxKernels() { return softmaxTable; }

} // namespace treadle
