// Selection by order within rows: the nth element, approximate top-k (exact here), the nearest
// points; and isotonic regression.
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace treadle {
namespace {

// Orders NaN last, so that the order is total.
template <typename T> bool isBefore(T a, T b) { return a < b || (a == a && b != b); }

// --- NthElement ----------------------------------------------------------------------------------

template <typename T> struct NthElementKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0), nth = ctx.input(1);
    if (!nth.isScalar() || nth.scalarValue<int32_t>() < 0)
      return ctx.fail(invalidArgument("n must be a non-negative scalar, but is ",
                                      nth.isScalar() ? std::to_string(nth.scalarValue<int32_t>())
                                                     : tensorTypeText(nth)));
    int64_t n = nth.scalarValue<int32_t>();
    if (in.rank() < 1 || in.dim(in.rank() - 1) <= n)
      return ctx.fail(invalidArgument("n is ", n, ", but the input's shape is ",
                                      dimsText(in.dims()), "; expected n < the last dimension"));
    int64_t width = in.dim(in.rank() - 1);
    Tensor *out = TREADLE_OR_RETURN(
        ctx.allocateOutput(0, in.dtype(), in.dims().first(static_cast<size_t>(in.rank()) - 1)));
    if (ctx.state<bool>())
      n = width - 1 - n;
    std::vector<T> row(static_cast<size_t>(width));
    for (int64_t i = 0; i < out->count(); ++i) {
      std::copy_n(in.data<T>() + i * width, width, row.begin());
      std::nth_element(row.begin(), row.begin() + n, row.end(), isBefore<T>);
      out->data<T>()[i] = row[static_cast<size_t>(n)];
    }
  }
};

Expected<BoundKernel> bindNthElement(const BindContext &node) {
  return bindByType<NthElementKernel, RealTypes>(node).map([&](BoundKernel bound) {
    return boundWith(bound.fn, node.attrs.getOr<bool>("reverse", false));
  });
}

// --- ApproxTopK ----------------------------------------------------------------------------------

struct ApproxState {
  int64_t k, axis;
  bool isLargest;
};

template <typename T> struct ApproxTopKKernel {
  static void run(OpContext &ctx) {
    const auto &s = ctx.state<ApproxState>();
    const Tensor in = ctx.input(0);
    int64_t axis = normalizedAxis(s.axis, in.rank());
    if (axis < 0)
      return ctx.fail(invalidArgument("reduction_dimension is ", s.axis,
                                      ", but the input has rank ", in.rank()));
    auto d = static_cast<size_t>(axis);
    int64_t n = in.dims()[d], inner = countBetween(in.dims(), d + 1, in.dims().size());
    if (s.k > n)
      return ctx.fail(invalidArgument("k is ", s.k, ", but dimension ", axis, " of the input has ",
                                      n, " elements"));
    DimVector dims(in.dims());
    dims[d] = s.k;
    Tensor *values = ctx.allocateOutput(0, in.dtype(), dims);
    Tensor *indices = ctx.allocateOutput(1, DType::Int32, dims);
    if (!values || !indices || !values->count())
      return;
    auto isAhead = [&](T a, T b) { return (s.isLargest ? a > b : a < b) || (a == a && b != b); };
    std::vector<int32_t> order(static_cast<size_t>(n));
    for (int64_t line = 0; line < in.count() / n; ++line) {
      int64_t outer = line / inner, column = line % inner;
      const T *x = in.data<T>() + outer * n * inner + column;
      std::iota(order.begin(), order.end(), 0);
      std::partial_sort(order.begin(), order.begin() + s.k, order.end(), [&](int32_t a, int32_t b) {
        T u = x[a * inner], v = x[b * inner];
        return isAhead(u, v) || (!isAhead(v, u) && a < b);
      });
      for (int64_t i = 0; i < s.k; ++i) {
        int64_t to = (outer * s.k + i) * inner + column;
        int32_t from = order[static_cast<size_t>(i)];
        values->data<T>()[to] = x[from * inner];
        indices->data<int32_t>()[to] = from;
      }
    }
  }
};

Expected<BoundKernel> bindApproxTopK(const BindContext &node) {
  ApproxState s{node.attrs.getOr<int64_t>("k", 0),
                node.attrs.getOr<int64_t>("reduction_dimension", -1),
                node.attrs.getOr<bool>("is_max_k", true)};
  return bindByType<ApproxTopKKernel, RealTypes>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, s); });
}

// --- NearestNeighbors ----------------------------------------------------------------------------

// Inputs: points, centers and the number of wanted centers. Outputs: the indices of the nearest
// centers and the squared distances.
void nearestNeighbors(OpContext &ctx) {
  const Tensor points = ctx.input(0), centers = ctx.input(1), number = ctx.input(2);
  if (points.rank() != 2 || centers.rank() != 2 || points.dim(1) != centers.dim(1))
    return ctx.fail(invalidArgument(
        "points and centers must be matrices with the same number of columns, but have shapes ",
        dimsText(points.dims()), " and ", dimsText(centers.dims())));
  if (!points.dim(0) || !centers.dim(0))
    return ctx.fail(invalidArgument("there must be at least one point and one center"));
  if (!number.isScalar() || number.scalarValue<int64_t>() < 0)
    return ctx.fail(invalidArgument("k must be a non-negative scalar, but is ",
                                    number.isScalar()
                                        ? std::to_string(number.scalarValue<int64_t>())
                                        : tensorTypeText(number)));
  int64_t n = centers.dim(0), width = points.dim(1);
  int64_t k = std::min(number.scalarValue<int64_t>(), n);
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {points.dim(0), k});
  Tensor *distances = ctx.allocateOutput(1, DType::Float32, {points.dim(0), k});
  if (!indices || !distances || !indices->count())
    return;
  std::vector<std::pair<float, int64_t>> found(static_cast<size_t>(n));
  for (int64_t row = 0; row < points.dim(0); ++row) {
    Eigen::Map<const Eigen::VectorXf> point(points.data<float>() + row * width, width);
    for (int64_t c = 0; c < n; ++c) {
      Eigen::Map<const Eigen::VectorXf> center(centers.data<float>() + c * width, width);
      found[static_cast<size_t>(c)] = {(point - center).squaredNorm(), c};
    }
    std::partial_sort(found.begin(), found.begin() + k, found.end());
    for (int64_t i = 0; i < k; ++i) {
      distances->data<float>()[row * k + i] = found[static_cast<size_t>(i)].first;
      indices->data<int64_t>()[row * k + i] = found[static_cast<size_t>(i)].second;
    }
  }
}

// --- IsotonicRegression --------------------------------------------------------------------------

// Pool adjacent violators: replaces adjacent increasing values by their mean, until none increase.
template <typename T, typename Out> void pool(const T *in, int64_t n, Out *out, int32_t *segments) {
  struct Pool {
    double sum;
    int64_t count;
    double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (int64_t i = 0; i < n; ++i) {
    pools.push_back({static_cast<double>(in[i]), 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() <= pools.back().mean()) {
      Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  for (size_t p = 0; p < pools.size(); ++p) {
    out = std::fill_n(out, pools[p].count, static_cast<Out>(pools[p].mean()));
    segments = std::fill_n(segments, pools[p].count, static_cast<int32_t>(p));
  }
}

template <typename T> struct IsotonicKernel {
  static void run(OpContext &ctx) {
    const Tensor in = ctx.input(0);
    if (in.rank() < 1)
      return ctx.fail(invalidArgument("the input must have rank 1 or more, but is a scalar"));
    Tensor *out = ctx.allocateOutput(0, ctx.state<DType>(), in.dims());
    Tensor *segments = ctx.allocateOutput(1, DType::Int32, in.dims());
    if (!out || !segments)
      return;
    int64_t n = in.dim(in.rank() - 1), rows = n ? in.count() / n : 0;
    visitType(out->dtype(), FloatTypes(), [&]<typename Out>() {
      for (int64_t row = 0; row < rows; ++row)
        pool(in.data<T>() + row * n, n, out->data<Out>() + row * n,
             segments->data<int32_t>() + row * n);
    });
  }
};

Expected<BoundKernel> bindIsotonic(const BindContext &node) {
  DType out = node.outputTypes[0];
  DType in = node.inputTypes[0];
  DType expected = isFloating(in)                            ? in
                   : in == DType::Int8 || in == DType::Int16 ? DType::Float32
                                                             : DType::Float64;
  if (out != expected)
    return unsupportedDType(node, out);
  return bindByType<IsotonicKernel, Join<FloatTypes, SignedTypes>>(node).map(
      [&](BoundKernel bound) { return boundWith(bound.fn, out); });
}

const KernelEntry selectionTable[] = {
    {"NthElement", bindNthElement},
    {"ApproxTopK", bindApproxTopK},
    {"NearestNeighbors", bindPlain<nearestNeighbors>},
    {"IsotonicRegression", bindIsotonic},
};

} // namespace

std::span<const KernelEntry> selectionKernels() { return selectionTable; }

} // namespace treadle
