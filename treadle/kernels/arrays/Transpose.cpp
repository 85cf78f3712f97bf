// Transposition, and ops on permutations.
#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <algorithm>

namespace treadle {
namespace {

// Reads a permutation of [0, rank), whose entries may be negative (counted from the end); an error
// if it isn't one.
Expected<DimVector> readPermutation(const Tensor &perm, int rank) {
  if (perm.rank() != 1 || perm.count() != rank)
    return Unexpected(invalidArgument("perm is ", tensorTypeText(perm), ", expected a vector of ",
                                      rank, ", the input's rank"));
  DimVector axes, seen(static_cast<size_t>(rank));
  for (int d = 0; d < rank; ++d) {
    int64_t axis = normalizedAxis(indexAt(perm, d), rank);
    if (axis < 0)
      return Unexpected(invalidArgument("perm[", d, "] is ", indexAt(perm, d),
                                        ", expected a dimension in [0, ", rank, ")"));
    if (seen[axis]++)
      return Unexpected(invalidArgument("perm contains dimension ", axis, " twice"));
    axes.push(axis);
  }
  return axes;
}

// Whether the permutation moves only dimensions of size 1, so that the elements keep their order.
bool keepsOrder(Dims dims, const DimVector &axes) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (dims[axis] == 1)
      continue;
    if (axis < last)
      return false;
    last = axis;
  }
  return true;
}

template <typename T> void conjugate(Tensor &t) {
  T *values = t.data<T>();
  for (int64_t i = 0; i < t.count(); ++i)
    values[i] = std::conj(values[i]);
}

void transpose(OpContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto axes = TREADLE_OR_RETURN(ctx.check(readPermutation(ctx.input(1), in.rank())));
  DimVector dims, steps, strides = rowMajorStrides(in.dims());
  for (int64_t axis : axes) {
    dims.push(in.dims()[axis]);
    steps.push(strides[axis]);
  }
  if (keepsOrder(in.dims(), axes))
    return ctx.setOutput(0, ctx.takeInput(0).withDims(dims));
  Tensor *out = ctx.allocateOutput(0, in.dtype(), dims);
  if (out && out->count())
    copyStrided(ctx, in.dtype(), dims, out->raw(), rowMajorStrides(dims), in.raw(), steps);
}

template <typename T> void conjugateTranspose(OpContext &ctx) {
  transpose(ctx);
  Tensor &out = ctx.output(0);
  if (!out)
    return;
  if (!out.isUnique()) {
    auto copy = TREADLE_OR_RETURN(ctx.check(out.clone()));
    out = std::move(copy);
  }
  conjugate<T>(out);
}

Expected<BoundKernel> bindConjugateTranspose(const BindContext &node) {
  BoundKernel bound;
  bound.fn = transpose;
  visitType(node.inputTypes[0], ComplexTypes(),
            [&]<typename T>() { bound.fn = conjugateTranspose<T>; });
  return bound;
}

template <typename T> struct InvertPermutation {
  static void run(OpContext &ctx) {
    const Tensor &in = ctx.input(0);
    if (in.rank() != 1)
      return ctx.fail(
          invalidArgument("expected a vector of indices, but the input is ", tensorTypeText(in)));
    Tensor *out = TREADLE_OR_RETURN(ctx.allocateOutput(0, in.dtype(), in.dims()));
    int64_t n = in.count();
    const T *from = in.data<T>();
    T *to = out->data<T>();
    std::fill_n(to, n, T(-1));
    for (int64_t i = 0; i < n; ++i) {
      if (from[i] < 0 || from[i] >= n)
        return ctx.fail(
            invalidArgument("x[", i, "] is ", from[i], ", expected an index in [0, ", n, ")"));
      if (to[from[i]] >= 0)
        return ctx.fail(invalidArgument("x contains ", from[i], " twice"));
      to[from[i]] = static_cast<T>(i);
    }
  }
};

const KernelEntry transposeTable[] = {
    {"ConjugateTranspose", bindConjugateTranspose},
    {"InvertPermutation", bindByType<InvertPermutation, TypeList<int32_t, int64_t>>},
    {"Transpose", bindPlain<transpose>},
};

} // namespace

std::span<const KernelEntry> transposeKernels() { return transposeTable; }

} // namespace treadle
