// Arithmetic on sparse tensors: products, reductions, softmax, and ops with dense tensors.
#include "treadle/kernels/elementwise/Wrapping.h"
#include "treadle/kernels/sparse/Sparse.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace treadle {
namespace {

/// The type in which sums of T are accumulated.
template <typename T> struct SumOf {
  using type = T;
};
template <> struct SumOf<Half> {
  using type = float;
};
template <> struct SumOf<BFloat16> {
  using type = float;
};

template <template <typename> class Kernel, typename Types, int valuesInput>
Expected<BoundKernel> bindByValues(const BindContext &node) {
  return bindForType<Kernel, Types>(node, node.inputTypes[static_cast<size_t>(valuesInput)]);
}

// --- SparseTensorDenseMatMul -------------------------------------------------------------------

struct Adjoints {
  bool a, b;
};

template <typename T> T conjugated(T value) {
  if constexpr (std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>)
    return std::conj(value);
  else
    return value;
}

template <typename T> struct SparseMatMul {
  using Sum = typename SumOf<T>::type;

  static void run(OpContext &ctx) {
    const Adjoints &adjoint = ctx.state<Adjoints>();
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2),
                 &b = ctx.input(3);
    if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 ||
        values.count() != indices.dim(0) || shape.rank() != 1 || shape.count() != 2 ||
        b.rank() != 2)
      return ctx.fail(invalidArgument("indices, values, shape and b are ", tensorTypeText(indices),
                                      ", ", tensorTypeText(values), ", ", tensorTypeText(shape),
                                      " and ", tensorTypeText(b),
                                      ", expected [n,2], [n], [2] and a matrix"));
    int64_t rows = indexAt(shape, adjoint.a), inner = indexAt(shape, !adjoint.a);
    int64_t columns = b.dim(!adjoint.b);
    if (b.dim(adjoint.b) != inner)
      return ctx.fail(invalidArgument("the inner dimension is ", inner, " in a, but ",
                                      b.dim(adjoint.b), " in b"));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, {rows, columns}));
    std::vector<Sum> sums(static_cast<size_t>(out->count()));
    for (int64_t e = 0; e < values.count(); ++e) {
      int64_t row = indexAt(indices, e * 2 + adjoint.a), k = indexAt(indices, e * 2 + !adjoint.a);
      if (row < 0 || row >= rows || k < 0 || k >= inner)
        return ctx.fail(invalidArgument("indices[", e, "] is [", indexAt(indices, e * 2), ",",
                                        indexAt(indices, e * 2 + 1), "], outside of the shape ",
                                        dimsText(readIndices(shape))));
      T own = values.data<T>()[e];
      Sum factor(adjoint.a ? conjugated(own) : own);
      Sum *to = sums.data() + row * columns;
      const T *from = b.data<T>() + (adjoint.b ? k : k * columns);
      int64_t step = adjoint.b ? inner : 1;
      for (int64_t c = 0; c < columns; ++c)
        to[c] = wrappingSum(
            to[c], wrappingProduct(factor, Sum(adjoint.b ? conjugated(from[c * step]) : from[c])));
    }
    std::ranges::transform(sums, out->data<T>(), [](Sum sum) { return T(sum); });
  }
};

using MatMulTypes = TypeList<float, double, BFloat16, Half, int32_t, Complex64, Complex128>;

Expected<BoundKernel> bindMatMul(const BindContext &node) {
  return bindByValues<SparseMatMul, MatMulTypes, 1>(node).map([&](BoundKernel bound) {
    return boundWith(bound.fn, Adjoints{node.attrs.getOr("adjoint_a", false),
                                        node.attrs.getOr("adjoint_b", false)});
  });
}

// --- reductions --------------------------------------------------------------------------------

struct ReduceOptions {
  bool keepsDims;
};

struct AddValues {
  template <typename T> static T combine(T a, T b) { return wrappingSum(a, b); }
};
struct MaxOfValues {
  template <typename T> static T combine(T a, T b) { return std::max(a, b); }
};

/// The dimensions that are kept, and the result's shape.
struct ReducedShape {
  DimVector kept, outDims;
};

std::optional<ReducedShape> reducedDims(OpContext &ctx, const SparseView &in, const Tensor &axes) {
  std::vector<bool> isReduced(static_cast<size_t>(in.rank));
  for (int64_t i = 0; i < axes.count(); ++i) {
    int64_t axis = normalizedAxis(indexAt(axes, i), in.rank);
    if (axis < 0) {
      ctx.fail(invalidArgument("reduction_axes[", i, "] is ", indexAt(axes, i),
                               ", expected one in [", -in.rank, ", ", in.rank, ")"));
      return std::nullopt;
    }
    isReduced[axis] = true;
  }
  ReducedShape out;
  for (int64_t d = 0; d < in.rank; ++d) {
    bool stays = !isReduced[d];
    if (stays)
      out.kept.push(d);
    if (stays || ctx.state<ReduceOptions>().keepsDims)
      out.outDims.push(stays ? in.dims[d] : 1);
  }
  return out;
}

// Reduces the values of each non-empty position of the result, in order.
template <typename T, typename Op>
std::optional<std::map<int64_t, T>> reducedValues(OpContext &ctx, const SparseView &in,
                                                  const ReducedShape &reduced) {
  if (!checkInside(ctx, in))
    return std::nullopt;
  if (!countElements(reduced.outDims)) {
    ctx.fail(invalidArgument("the shape ", dimsText(reduced.outDims), " is too large"));
    return std::nullopt;
  }
  std::map<int64_t, T> out;
  for (int64_t e = 0; e < in.count; ++e) {
    int64_t flat = 0;
    for (int64_t d : reduced.kept)
      flat = flat * in.dims[d] + in.index(e)[d];
    T value = in.values->data<T>()[e];
    auto [it, isNew] = out.try_emplace(flat, value);
    if (!isNew)
      it->second = Op::combine(it->second, value);
  }
  return out;
}

template <typename T, typename Op> void reduceToDense(OpContext &ctx) {
  auto in = sparseInput(ctx, 0, 1, 2);
  auto reduced = in ? reducedDims(ctx, *in, ctx.input(3)) : std::nullopt;
  auto found = reduced ? reducedValues<T, Op>(ctx, *in, *reduced) : std::nullopt;
  Tensor *out =
      TREADLE_OR_RETURN(found ? ctx.allocateOutput(0, dtypeOf<T>, reduced->outDims) : nullptr);
  zeroElements(dtypeOf<T>, out->raw(), out->count());
  for (auto [at, value] : *found)
    out->data<T>()[at] = value;
}

template <typename T, typename Op> void reduceToSparse(OpContext &ctx) {
  auto in = sparseInput(ctx, 0, 1, 2);
  auto reduced = in ? reducedDims(ctx, *in, ctx.input(3)) : std::nullopt;
  auto found = reduced ? reducedValues<T, Op>(ctx, *in, *reduced) : std::nullopt;
  if (!found)
    return;
  auto count = std::ssize(*found), rank = static_cast<int64_t>(reduced->outDims.size());
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {count, rank});
  Tensor *values =
      TREADLE_OR_RETURN(indices ? ctx.allocateOutput(1, dtypeOf<T>, {count}) : nullptr);
  int64_t i = 0;
  for (auto [flat, value] : *found) {
    int64_t rest = flat;
    for (int64_t d = rank - 1; d >= 0; --d) {
      indices->data<int64_t>()[i * rank + d] = rest % reduced->outDims[d];
      rest /= reduced->outDims[d];
    }
    values->data<T>()[i++] = value;
  }
  ctx.setOutput(2, Tensor::vector<int64_t>(
                       DType::Int64, std::span(reduced->outDims.data(), reduced->outDims.size())));
}

template <typename Op, bool isSparse, typename Types>
Expected<BoundKernel> bindReduce(const BindContext &node) {
  KernelFn fn = nullptr;
  DType dtype = node.inputTypes[1];
  if (!visitType(dtype, Types(), [&]<typename T>() {
        fn = isSparse ? reduceToSparse<T, Op> : reduceToDense<T, Op>;
      }))
    return unsupportedDType(node, dtype);
  return boundWith(fn, ReduceOptions{node.attrs.getOr("keep_dims", false)});
}

// --- with dense tensors ------------------------------------------------------------------------

template <typename T> struct AddToDense {
  static void run(OpContext &ctx) {
    const Tensor &indices = ctx.input(0), &values = ctx.input(1), &shape = ctx.input(2);
    Tensor dense = ctx.input(3);
    if (indices.rank() != 2 || values.rank() != 1 || shape.rank() != 1 ||
        indices.dim(0) != values.count() || indices.dim(1) != shape.count() ||
        !std::ranges::equal(Dims(readIndices(shape)), dense.dims()))
      return ctx.fail(invalidArgument("indices, values, shape and b are ", tensorTypeText(indices),
                                      ", ", tensorTypeText(values), ", ",
                                      dimsText(readIndices(shape)), " and ", tensorTypeText(dense),
                                      ", expected a sparse and a dense tensor of equal shapes"));
    auto out = TREADLE_OR_RETURN(ctx.check(dense.clone()));
    int64_t rank = shape.count();
    for (int64_t e = 0; e < values.count(); ++e) {
      int64_t flat = 0;
      for (int64_t d = 0; d < rank; ++d) {
        int64_t at = indexAt(indices, e * rank + d);
        if (at < 0 || at >= dense.dim(static_cast<int>(d)))
          return ctx.fail(invalidArgument("indices[", e, ",", d, "] is ", at,
                                          ", expected one in [0, ", dense.dim(static_cast<int>(d)),
                                          ")"));
        flat = flat * dense.dim(static_cast<int>(d)) + at;
      }
      T &sum = out.data<T>()[flat];
      sum = wrappingSum(sum, values.data<T>()[e]);
    }
    ctx.setOutput(0, std::move(out));
  }
};

struct Plus {
  template <typename T> static T apply(T a, T b) { return wrappingSum(a, b); }
};
struct Times {
  template <typename T> static T apply(T a, T b) { return wrappingProduct(a, b); }
};
struct Over {
  template <typename T> static T apply(T a, T b) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
      if (b == -1) // the lowest number has no negative
        return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(a));
    return a / b;
  }
};

// Combines each sparse value with the dense element at its position; the dense tensor is broadcast.
template <typename Op> struct WithDense {
  template <typename T> struct Kernel {
    static void run(OpContext &ctx) {
      auto in = sparseInput(ctx, 0, 1, 2);
      if (!in || !checkInside(ctx, *in))
        return;
      const Tensor &dense = ctx.input(3);
      int64_t lead = in->rank - dense.rank();
      bool fits = lead >= 0;
      for (int64_t d = 0; fits && d < dense.rank(); ++d)
        fits = dense.dims()[d] == 1 || dense.dims()[d] == in->dims[lead + d];
      if (!fits)
        return ctx.fail(invalidArgument("a dense tensor of shape ", dimsText(dense.dims()),
                                        " can't be broadcast to the sparse one's ",
                                        dimsText(in->shape())));
      Tensor *out = ctx.allocateOutput(0, dtypeOf<T>, {in->count});
      for (int64_t e = 0; out && e < in->count; ++e) {
        int64_t flat = 0;
        for (int64_t d = 0; d < dense.rank(); ++d)
          flat = flat * dense.dims()[d] + (dense.dims()[d] == 1 ? 0 : in->index(e)[lead + d]);
        T value = dense.data<T>()[flat];
        if constexpr (std::is_same_v<Op, Over> && std::is_integral_v<T>)
          if (value == 0)
            return ctx.fail(invalidArgument("integer division by zero at entry ", e));
        out->data<T>()[e] = Op::template apply<T>(in->values->data<T>()[e], value);
      }
    }
  };
};

// --- SparseSoftmax -----------------------------------------------------------------------------

// Softmax along the last dimension; entries of a row must be adjacent.
template <typename T> struct Softmax {
  using Sum = typename SumOf<T>::type;

  static void run(OpContext &ctx) {
    auto in = TREADLE_OR_RETURN(sparseInput(ctx, 0, 1, 2));
    if (in.rank < 2)
      return ctx.fail(
          invalidArgument("the sparse tensor has rank ", in.rank, ", expected at least 2"));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, dtypeOf<T>, {in.count}));
    auto sameRow = [&](int64_t a, int64_t b) {
      return std::equal(in.index(a), in.index(a) + in.rank - 1, in.index(b));
    };
    for (int64_t begin = 0, end = 0; begin < in.count; begin = end) {
      while (end < in.count && sameRow(begin, end))
        ++end;
      row(in.values->data<T>(), out->data<T>(), begin, end);
    }
  }

  static void row(const T *in, T *out, int64_t begin, int64_t end) {
    Sum highest = static_cast<Sum>(*std::max_element(in + begin, in + end)), sum(0);
    std::vector<Sum> powers;
    for (int64_t i = begin; i < end; ++i)
      sum += powers.emplace_back(std::exp(static_cast<Sum>(in[i]) - highest));
    for (int64_t i = begin; i < end; ++i)
      out[i] = T(powers[i - begin] / sum);
  }
};

const KernelEntry sparseMathTable[] = {
    {"SparseDenseCwiseAdd", bindByValues<WithDense<Plus>::Kernel, NumericTypes, 1>},
    {"SparseDenseCwiseDiv", bindByValues<WithDense<Over>::Kernel, NumericTypes, 1>},
    {"SparseDenseCwiseMul", bindByValues<WithDense<Times>::Kernel, NumericTypes, 1>},
    {"SparseReduceMax", bindReduce<MaxOfValues, false, RealTypes>},
    {"SparseReduceMaxSparse", bindReduce<MaxOfValues, true, RealTypes>},
    {"SparseReduceSum", bindReduce<AddValues, false, NumericTypes>},
    {"SparseReduceSumSparse", bindReduce<AddValues, true, NumericTypes>},
    {"SparseSoftmax", bindByValues<Softmax, FloatTypes, 1>},
    {"SparseTensorDenseAdd", bindByValues<AddToDense, NumericTypes, 1>},
    {"SparseTensorDenseMatMul", bindMatMul},
};

} // namespace

std::span<const KernelEntry> sparseMathKernels() { return sparseMathTable; }

} // namespace treadle
