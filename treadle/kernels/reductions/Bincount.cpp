// Counts of small integers: Bincount with its dense, sparse and ragged forms, and Bucketize.
#include "treadle/kernels/reductions/SegmentRows.h"

#include <algorithm>
#include <vector>

namespace treadle {
namespace {

struct BincountState {
  bool isBinary; // 1 if a number occurs, instead of its count
};

/// Adds the weight of each value to its bin, and ignores values beyond the last bin. Null weights
/// count as ones.
template <typename T> struct Bins {
  T *counts;
  int64_t size;
  bool isBinary;

  void add(int64_t row, int64_t value, const T *weight) {
    if (value >= size)
      return;
    T &bin = counts[row * size + value];
    bin = isBinary ? T(1) : bin + (weight ? *weight : T(1));
  }
};

// Checks that there is one weight per value, or none at all.
bool checkWeights(OpContext &ctx, const Tensor &values, const Tensor &weights) {
  if (weights.count() == 0 || std::ranges::equal(weights.dims(), values.dims()))
    return true;
  ctx.fail(invalidArgument("weights must have the values' shape ", dimsText(values.dims()),
                           " or no elements, but have shape ", dimsText(weights.dims())));
  return false;
}

bool checkValues(OpContext &ctx, const Tensor &values) {
  IdList list(values);
  for (int64_t i = 0; i < values.count(); ++i)
    if (list[i] < 0) {
      ctx.fail(invalidArgument("element ", i, " is ", list[i], ", expected 0 or more"));
      return false;
    }
  return true;
}

bool readSize(OpContext &ctx, int i, int64_t &size) {
  const Tensor &t = ctx.input(i);
  if (t.count() != 1) {
    ctx.fail(invalidArgument("size must be a scalar, but has shape ", dimsText(t.dims())));
    return false;
  }
  size = IdList(t)[0];
  if (size >= 0)
    return true;
  ctx.fail(invalidArgument("size must not be negative, but is ", size));
  return false;
}

// Checks the inputs that all variants share, and allocates the bins: a vector, or one for each of
// `rows`.
template <typename T>
bool makeBins(OpContext &ctx, int first, int64_t rows, bool isVector, Bins<T> &bins) {
  const Tensor values = ctx.input(first), weights = ctx.input(ctx.numInputs() - 1);
  int sizeInput = ctx.numInputs() - 2;
  if (!readSize(ctx, sizeInput, bins.size) || !checkWeights(ctx, values, weights) ||
      !checkValues(ctx, values))
    return false;
  Tensor *out = isVector ? ctx.allocateOutput(0, dtypeOf<T>, {bins.size})
                         : ctx.allocateOutput(0, dtypeOf<T>, {rows, bins.size});
  if (!out)
    return false;
  bins.counts = out->data<T>();
  bins.isBinary = ctx.state<BincountState>().isBinary;
  std::fill_n(bins.counts, out->count(), T(0));
  return true;
}

template <typename T> const T *weightAt(const Tensor &weights, int64_t i) {
  return weights.count() ? weights.data<T>() + i : nullptr;
}

// Inputs: values, size, weights. Bincount counts all values, DenseBincount those of each row of a
// matrix.
template <bool countsRows> struct DenseOf {
  template <typename T> struct Kernel {
    static void run(OpContext &ctx) {
      const Tensor values = ctx.input(0);
      const Tensor weights = ctx.input(2);
      if (countsRows && values.rank() > 2)
        return ctx.fail(invalidArgument("the input must be a vector or a matrix, but has shape ",
                                        dimsText(values.dims())));
      bool isMatrix = countsRows && values.rank() == 2;
      int64_t rows = isMatrix ? values.dim(0) : 1;
      Bins<T> bins;
      if (!makeBins(ctx, 0, rows, !isMatrix, bins) || !values.count())
        return;
      IdList list(values);
      int64_t width = values.count() / rows;
      for (int64_t i = 0; i < values.count(); ++i)
        bins.add(i / width, list[i], weightAt<T>(weights, i));
    }
  };
};

// Inputs: indices, values, dense_shape, size, weights.
template <typename T> struct SparseBincount {
  static void run(OpContext &ctx) {
    const Tensor indices = ctx.input(0), values = ctx.input(1), shape = ctx.input(2);
    const Tensor weights = ctx.input(4);
    if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 ||
        indices.dim(0) != values.dim(0) || indices.dim(1) != shape.dim(0) || shape.dim(0) < 1 ||
        shape.dim(0) > 2)
      return ctx.fail(invalidArgument("indices, values and dense_shape must be the components of a "
                                      "sparse vector or matrix, but have shapes ",
                                      dimsText(indices.dims()), ", ", dimsText(values.dims()),
                                      " and ", dimsText(shape.dims())));
    int rank = static_cast<int>(shape.dim(0));
    for (int64_t i = 0; i < indices.count(); ++i)
      if (int64_t at = indices.data<int64_t>()[i]; at < 0 || at >= shape.data<int64_t>()[i % rank])
        return ctx.fail(
            invalidArgument("index ", at, " of element ", i / rank, " is outside dense_shape"));
    Bins<T> bins;
    if (!makeBins(ctx, 1, shape.data<int64_t>()[0], rank == 1, bins))
      return;
    IdList list(values);
    for (int64_t i = 0; i < values.count(); ++i)
      bins.add(rank == 1 ? 0 : indices.data<int64_t>()[i * 2], list[i], weightAt<T>(weights, i));
  }
};

// Inputs: splits, values, size, weights.
template <typename T> struct RaggedBincount {
  static void run(OpContext &ctx) {
    const Tensor splits = ctx.input(0), values = ctx.input(1), weights = ctx.input(3);
    if (splits.rank() != 1 || splits.count() < 1 || values.rank() != 1)
      return ctx.fail(invalidArgument("splits and values must be vectors, but have shapes ",
                                      dimsText(splits.dims()), " and ", dimsText(values.dims())));
    auto ends = splits.values<int64_t>();
    if (ends.front() != 0 || ends.back() != values.count() || !std::ranges::is_sorted(ends))
      return ctx.fail(invalidArgument("splits must be ascending from 0 to the number of values, ",
                                      values.count()));
    Bins<T> bins;
    if (!makeBins(ctx, 1, splits.count() - 1, false, bins))
      return;
    IdList list(values);
    for (int64_t row = 0; row + 1 < splits.count(); ++row)
      for (int64_t i = ends[row]; i < ends[row + 1]; ++i)
        bins.add(row, list[i], weightAt<T>(weights, i));
  }
};

template <template <typename> class Kernel>
Expected<BoundKernel> bindBincount(const BindContext &node) {
  return withState(
      bindForType<Kernel, TypeList<int32_t, int64_t, float, double>>(node, node.outputTypes[0]),
      BincountState{node.attrs.getOr<bool>("binary_output", false)});
}

// --- Bucketize -----------------------------------------------------------------------------------

struct Boundaries {
  std::vector<float> limits;
};

template <typename T> struct BucketizeKernel {
  static void run(OpContext &ctx) {
    const std::vector<float> &limits = ctx.state<Boundaries>().limits;
    const Tensor in = ctx.input(0);
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, DType::Int32, in.dims()));
    for (int64_t i = 0; i < in.count(); ++i)
      out->data<int32_t>()[i] = static_cast<int32_t>(
          std::upper_bound(limits.begin(), limits.end(), in.data<T>()[i],
                           [](T x, float limit) {
                             return static_cast<double>(x) < static_cast<double>(limit);
                           }) -
          limits.begin());
  }
};

Expected<BoundKernel> bindBucketize(const BindContext &node) {
  using Types = TypeList<int32_t, int64_t, float, double>;
  Boundaries boundaries{node.attrs.getOr("boundaries", std::vector<float>())};
  if (!std::ranges::is_sorted(boundaries.limits))
    return Unexpected(invalidArgument("boundaries must be sorted"));
  return withState(bindByType<BucketizeKernel, Types>(node), std::move(boundaries));
}

const KernelEntry bincountTable[] = {
    {"Bincount", bindBincount<DenseOf<false>::Kernel>},
    {"DenseBincount", bindBincount<DenseOf<true>::Kernel>},
    {"SparseBincount", bindBincount<SparseBincount>},
    {"RaggedBincount", bindBincount<RaggedBincount>},
    {"Bucketize", bindBucketize},
};

} // namespace

std::span<const KernelEntry> bincountKernels() { return bincountTable; }

} // namespace treadle
