// Gradients of ops on sparse tensors: each entry of an operand gets the gradient of the result's
// entry with the same index, or zero if there is none.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <compare>

namespace treadle {
namespace {

/// A matrix of indices, one row per entry, in row-major order.
struct IndexMatrix {
  const int64_t *data;
  int64_t count, rank;

  static IndexMatrix of(const Tensor &t) { return {t.data<int64_t>(), t.dim(0), t.dim(1)}; }
  const int64_t *at(int64_t i) const { return data + i * rank; }
};

/// Compares entry `i` of `a`, shifted by `-offset`, with entry `j` of `b`.
std::strong_ordering compare(IndexMatrix a, int64_t i, const int64_t *offset, IndexMatrix b,
                             int64_t j) {
  for (int64_t d = 0; d < a.rank; ++d)
    if (auto order = __int128{a.at(i)[d]} - (offset ? offset[d] : 0) <=> b.at(j)[d]; order != 0)
      return order;
  return std::strong_ordering::equal;
}

/// Sets output `output`: for each entry of `of` the gradient of the same entry of `results`.
template <typename T>
void takeGradients(OpContext &ctx, int output, IndexMatrix of, const int64_t *offset,
                   IndexMatrix results, const T *grads) {
  Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(output, dtypeOf<T>, {of.count}));
  T *to = out->data<T>();
  int64_t j = 0;
  for (int64_t i = 0; i < of.count; ++i) {
    while (j < results.count && compare(of, i, offset, results, j) > 0)
      ++j;
    bool isThere = j < results.count && compare(of, i, offset, results, j) == 0;
    to[i] = isThere ? grads[j] : T(0);
  }
}

bool areMatrices(OpContext &ctx, std::initializer_list<int> inputs) {
  for (int i : inputs)
    if (ctx.input(i).rank() != 2) {
      ctx.fail(invalidArgument("indices (input ", i, ") are ", tensorTypeText(ctx.input(i)),
                               ", expected a matrix"));
      return false;
    }
  return true;
}

/// Whether the gradient, input 0, has an element for each row of the indices.
bool checkGradient(OpContext &ctx, const Tensor &indices) {
  const Tensor &grad = ctx.input(0);
  if (grad.rank() == 1 && grad.count() == indices.dim(0))
    return true;
  ctx.fail(invalidArgument("the gradient is ", tensorTypeText(grad), ", expected a vector of ",
                           indices.dim(0)));
  return false;
}

// Inputs: gradient, indices of a, of b, of the sum.
template <typename T> struct AddGrad {
  static void run(OpContext &ctx) {
    if (!areMatrices(ctx, {1, 2, 3}) || !checkGradient(ctx, ctx.input(3)))
      return;
    IndexMatrix a = IndexMatrix::of(ctx.input(1)), b = IndexMatrix::of(ctx.input(2)),
                sum = IndexMatrix::of(ctx.input(3));
    if (a.rank != b.rank || a.rank != sum.rank)
      return ctx.fail(invalidArgument("the indices have ", a.rank, ", ", b.rank, " and ", sum.rank,
                                      " columns, expected equal numbers"));
    const Tensor grad = ctx.input(0);
    takeGradients<T>(ctx, 0, a, nullptr, sum, grad.data<T>());
    takeGradients<T>(ctx, 1, b, nullptr, sum, grad.data<T>());
  }
};

// Inputs: gradient, indices of the input, start, indices of the slice.
template <typename T> struct SliceGrad {
  static void run(OpContext &ctx) {
    if (!areMatrices(ctx, {1, 3}) || !checkGradient(ctx, ctx.input(3)))
      return;
    IndexMatrix in = IndexMatrix::of(ctx.input(1)), slice = IndexMatrix::of(ctx.input(3));
    const Tensor &start = ctx.input(2);
    if (in.rank != slice.rank || start.rank() != 1 || start.count() != in.rank)
      return ctx.fail(invalidArgument("the indices have ", in.rank, " and ", slice.rank,
                                      " columns and input_start is ", tensorTypeText(start),
                                      ", expected equal numbers"));
    takeGradients<T>(ctx, 0, in, start.data<int64_t>(), slice, ctx.input(0).data<T>());
  }
};

const KernelEntry sparseGradientTable[] = {
    {"SparseAddGrad", bindByType<AddGrad, NumericTypes>},
    {"SparseSliceGrad", bindByType<SliceGrad, NumericTypes>},
};

} // namespace

std::span<const KernelEntry> sparseGradientKernels() { return sparseGradientTable; }

} // namespace treadle
