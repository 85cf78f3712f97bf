// Bincount of each row as a sparse tensor, for dense, sparse and ragged values.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/elementwise/Wrapping.h"
#include "treadle/kernels/reductions/SegmentRows.h"
#include "treadle/kernels/sparse/Sparse.h"

#include <algorithm>
#include <tuple>

namespace treadle {
namespace {

struct CountState {
  int64_t least, most; // number of columns; negative: no bound
  bool isBinary;       // record occurrence instead of counts
};

/// One value: its row and column, and its index among the values.
struct Occurrence {
  int64_t row, value, at;
};

bool checkCounted(OpContext &ctx, const Tensor &values, const Tensor &weights) {
  if (weights.count() && !std::ranges::equal(weights.dims(), values.dims())) {
    ctx.fail(invalidArgument("weights must have the values' shape ", dimsText(values.dims()),
                             " or no elements, but have shape ", dimsText(weights.dims())));
    return false;
  }
  IdList list(values);
  for (int64_t i = 0; i < values.count(); ++i)
    if (list[i] < 0) {
      ctx.fail(invalidArgument("value ", i, " is ", list[i],
                               ", but counted numbers must not be negative"));
      return false;
    }
  return true;
}

/// Sets outputs 0 to 2 to the counts; `rowOf(i)` is the row of value `i`. A vector has no row
/// indices.
template <typename T, typename RowOf>
void count(OpContext &ctx, const Tensor &values, const Tensor &weights, int64_t rows, bool isVector,
           RowOf rowOf) {
  const auto &state = ctx.state<CountState>();
  if (!checkCounted(ctx, values, weights))
    return;
  IdList list(values);
  std::vector<Occurrence> all;
  int64_t largest = 0;
  for (int64_t i = 0; i < values.count(); ++i)
    if (state.most < 0 || list[i] < state.most) {
      all.push_back({rowOf(i), list[i], i});
      largest = std::max(largest, list[i]);
    }
  std::ranges::sort(all, [](const Occurrence &a, const Occurrence &b) {
    return std::tie(a.row, a.value, a.at) < std::tie(b.row, b.value, b.at);
  });
  std::vector<Occurrence> cells;
  std::vector<T> counts;
  for (const Occurrence &one : all) {
    if (cells.empty() || cells.back().row != one.row || cells.back().value != one.value) {
      cells.push_back(one);
      counts.push_back(T(0));
    }
    T weight = weights.count() ? weights.data<T>()[one.at] : T(1);
    counts.back() = state.isBinary ? T(1) : wrappingSum(counts.back(), weight);
  }
  auto size = std::ssize(cells);
  Tensor *indices =
      TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int64, {size, isVector ? 1 : 2}));
  int64_t *index = indices->data<int64_t>();
  for (const Occurrence &cell : cells) {
    if (!isVector)
      *index++ = cell.row;
    *index++ = cell.value;
  }
  ctx.setOutput(1, Tensor::vector<T>(dtypeOf<T>, counts));
  int64_t columns =
      state.most >= 0 ? state.most : std::max(wrappingSum<int64_t>(largest, 1), state.least);
  int64_t shape[] = {rows, columns};
  ctx.setOutput(2, Tensor::vector<int64_t>(
                       DType::Int64, std::span<const int64_t>(shape + isVector, isVector ? 1 : 2)));
}

// Inputs: values, weights.
template <typename T> struct Dense {
  static void run(OpContext &ctx) {
    const Tensor values = ctx.input(0), weights = ctx.input(1);
    if (values.rank() != 1 && values.rank() != 2)
      return ctx.fail(invalidArgument("the values must be a vector or a matrix, but have shape ",
                                      dimsText(values.dims())));
    int64_t rows = values.rank() == 1 ? 1 : values.dim(0);
    if (rows == 0)
      return ctx.fail(invalidArgument("the values have no rows: ", dimsText(values.dims())));
    int64_t width = values.count() / rows;
    count<T>(ctx, values, weights, rows, values.rank() == 1,
             [width](int64_t i) { return i / width; });
  }
};

// Inputs: indices, values, dense_shape, weights.
template <typename T> struct SparseRows {
  static void run(OpContext &ctx) {
    auto sparse = sparseInput(ctx, 0, 1, 2);
    if (!sparse || !checkInside(ctx, *sparse))
      return;
    bool isVector = sparse->rank == 1;
    int64_t rows = isVector ? 1 : sparse->rank ? sparse->dims[0] : 0;
    if (rows < 1 || rows >= INT32_MAX)
      return ctx.fail(invalidArgument("dense_shape is ", dimsText(sparse->shape()),
                                      ", expected a vector, or rows that can be counted"));
    count<T>(ctx, *sparse->values, ctx.input(3), rows, isVector,
             [&](int64_t i) { return isVector ? 0 : sparse->index(i)[0]; });
  }
};

// Inputs: splits, values, weights. A row that ends before the previous one is empty.
template <typename T> struct RaggedRows {
  static void run(OpContext &ctx) {
    const Tensor splits = ctx.input(0), values = ctx.input(1), weights = ctx.input(2);
    auto ends = splits.values<int64_t>();
    if (ends.size() < 2 || ends.front() != 0 || ends.back() != values.count())
      return ctx.fail(invalidArgument(
          "splits are ", tensorTypeText(splits),
          ", expected at least two numbers, from 0 to the number of values, ", values.count()));
    int64_t next = 0;
    count<T>(ctx, values, weights, std::ssize(ends) - 1, false, [&](int64_t i) {
      while (i >= ends[next])
        ++next;
      return next - 1;
    });
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindCount(const BindContext &node) {
  return withState(
      bindForType<Kernel, TypeList<int32_t, int64_t, float, double>>(node, node.outputTypes[1]),
      CountState{node.attrs.getOr<int64_t>("minlength", -1),
                 node.attrs.getOr<int64_t>("maxlength", -1),
                 node.attrs.getOr("binary_output", false)});
}

const KernelEntry countSparseTable[] = {
    {"DenseCountSparseOutput", bindCount<Dense>},
    {"RaggedCountSparseOutput", bindCount<RaggedRows>},
    {"SparseCountSparseOutput", bindCount<SparseRows>},
};

} // namespace

std::span<const KernelEntry> countSparseKernels() { return countSparseTable; }

} // namespace treadle
