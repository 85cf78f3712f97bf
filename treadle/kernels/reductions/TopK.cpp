// The largest elements of rows, and whether a target is among them.
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/reductions/SegmentRows.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace treadle {
namespace {

struct TopKState {
  int64_t k; // if it isn't an input
  bool isSorted;
  DType indexType;
};

/// The order of elements. TensorFlow orders NaN last. PyTorch treats NaN as the largest number: it
/// comes first among the largest, and last among the smallest.
struct LargestFirst {
  template <typename T> static bool precedes(T a, T b) { return a > b || (a == a && b != b); }
};
struct LargestOrNaNFirst {
  template <typename T> static bool precedes(T a, T b) { return a > b || (a != a && b == b); }
};
struct SmallestFirst {
  template <typename T> static bool precedes(T a, T b) { return a < b || (a == a && b != b); }
};

template <typename Order, typename T> struct TopKKernel {
  // Orders by value; equal elements keep their order.
  static auto orderOf(const T *x) {
    return [x](int64_t a, int64_t b) {
      if (Order::precedes(x[a], x[b]))
        return true;
      return !Order::precedes(x[b], x[a]) && a < b;
    };
  }

  static void selectRow(const T *x, int64_t n, int64_t k, bool isSorted,
                        std::vector<int64_t> &order) {
    std::iota(order.begin(), order.end(), int64_t{0});
    if (k > 1 && k < n)
      return keepBest(x, n, k, isSorted, order);
    auto isBefore = orderOf(x);
    std::partial_sort(order.begin(), order.begin() + k, order.end(), isBefore);
  }

  // Keeps a heap of the best elements so far with the worst at its root, since most elements are
  // worse. If the result needn't be sorted, its order is that of TensorFlow's heap.
  static void keepBest(const T *x, int64_t n, int64_t k, bool isSorted,
                       std::vector<int64_t> &order) {
    auto isBefore = orderOf(x);
    auto begin = order.begin(), end = order.begin() + k;
    std::make_heap(begin, end + 1, isBefore);
    std::pop_heap(begin, end + 1, isBefore);
    for (int64_t i = k + 1; i < n; ++i)
      if (isBefore(i, order.front())) {
        std::pop_heap(begin, end, isBefore);
        *(end - 1) = i;
        std::push_heap(begin, end, isBefore);
      }
    if (isSorted)
      std::sort_heap(begin, end, isBefore);
  }

  template <typename Index>
  static void selectRows(const Tensor &in, int64_t n, int64_t k, bool isSorted, int64_t begin,
                         int64_t end, Tensor &values, Tensor &indices) {
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t r = begin; r < end; ++r) {
      const T *x = in.data<T>() + r * n;
      selectRow(x, n, k, isSorted, order);
      for (int64_t i = 0; i < k; ++i) {
        values.data<T>()[r * k + i] = x[order[static_cast<size_t>(i)]];
        indices.data<Index>()[r * k + i] = static_cast<Index>(order[static_cast<size_t>(i)]);
      }
    }
  }

  static void run(OpContext &ctx) {
    const TopKState &s = ctx.state<TopKState>();
    const Tensor in = ctx.input(0);
    if (ctx.numInputs() > 1 && !ctx.input(1).isScalar())
      return ctx.fail(
          invalidArgument("k must be a scalar, but has shape ", dimsText(ctx.input(1).dims())));
    int64_t k = ctx.numInputs() > 1 ? indexAt(ctx.input(1), 0) : s.k;
    int64_t n = in.rank() ? in.dim(in.rank() - 1) : 0;
    if (k < 0 || in.rank() < 1 || n < k)
      return ctx.fail(invalidArgument("k is ", k, ", but the input's shape is ",
                                      dimsText(in.dims()),
                                      "; expected 0 <= k <= the last dimension"));
    DimVector dims(in.dims());
    dims[dims.size() - 1] = k;
    Tensor *values = ctx.allocateOutput(0, in.dtype(), dims);
    Tensor *indices = ctx.allocateOutput(1, s.indexType, dims);
    if (!values || !indices || !values->count())
      return;
    visitType(s.indexType, TypeList<int32_t, int64_t, int16_t>(), [&]<typename Index>() {
      ctx.parallelFor(in.count() / n, 3.0 * static_cast<double>(n),
                      [&](int64_t begin, int64_t end) {
                        selectRows<Index>(in, n, k, s.isSorted, begin, end, *values, *indices);
                      });
    });
  }
};

template <typename Order> struct TopKBy {
  template <typename T> using Kernel = TopKKernel<Order, T>;
};

template <typename Order> Expected<BoundKernel> bindTopKBy(const BindContext &node) {
  return withState(bindByType<TopKBy<Order>::template Kernel, RealTypes>(node),
                   TopKState{node.attrs.getOr<int64_t>("k", 0),
                             node.attrs.getOr<bool>("sorted", true), node.outputTypes[1]});
}

Expected<BoundKernel> bindNaNAwareTopK(const BindContext &node) {
  return node.attrs.getOr<bool>("smallest", false) ? bindTopKBy<SmallestFirst>(node)
                                                   : bindTopKBy<LargestOrNaNFirst>(node);
}

// --- InTopK --------------------------------------------------------------------------------------

// Whether fewer than k predictions are larger than the target's, and all predictions compared are
// finite.
bool isInTop(const float *x, int64_t n, int64_t target, int64_t k) {
  if (target < 0 || target >= n || !std::isfinite(x[target]))
    return false;
  int64_t above = 0;
  for (int64_t i = 0; i < n && above <= k; ++i) {
    if (!std::isfinite(x[i]))
      return false;
    above += x[i] > x[target];
  }
  return above < k;
}

void runInTopK(OpContext &ctx) {
  const Tensor &predictions = ctx.input(0), &targets = ctx.input(1);
  if (predictions.rank() != 2 || targets.rank() != 1 || targets.dim(0) != predictions.dim(0))
    return ctx.fail(invalidArgument("predictions must be a matrix and targets a vector with one "
                                    "element per row, but they have shapes ",
                                    dimsText(predictions.dims()), " and ",
                                    dimsText(targets.dims())));
  if (ctx.numInputs() > 2 && !ctx.input(2).isScalar())
    return ctx.fail(
        invalidArgument("k must be a scalar, but has shape ", dimsText(ctx.input(2).dims())));
  int64_t k = ctx.numInputs() > 2 ? indexAt(ctx.input(2), 0) : ctx.state<int64_t>();
  int64_t rows = predictions.dim(0), n = predictions.dim(1);
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Bool, {rows}));
  IdList ids(targets);
  for (int64_t r = 0; r < rows; ++r)
    out->data<bool>()[r] = isInTop(predictions.data<float>() + r * n, n, ids[r], k);
}

Expected<BoundKernel> bindInTopK(const BindContext &node) {
  return boundWith(runInTopK, node.attrs.getOr<int64_t>("k", 0));
}

const KernelEntry topKTable[] = {
    {"TopK", bindTopKBy<LargestFirst>}, {"TopKV2", bindTopKBy<LargestFirst>},
    {"_TopK", bindNaNAwareTopK},        {"InTopK", bindInTopK},
    {"InTopKV2", bindInTopK},
};

} // namespace

std::span<const KernelEntry> topKKernels() { return topKTable; }

} // namespace treadle
