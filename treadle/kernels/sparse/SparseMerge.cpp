// Entrywise ops on two sparse tensors of one shape: SparseAdd, SparseSparseMaximum,
// SparseSparseMinimum.
#include "treadle/kernels/elementwise/Wrapping.h"
#include "treadle/kernels/sparse/Sparse.h"

#include <algorithm>
#include <compare>
#include <complex>
#include <vector>

namespace treadle {
namespace {

/// An entry of the result: its indices in the two operands, -1 if missing.
struct Entry {
  int64_t a, b;
};

/// Merges the entries of both operands, which must be sorted.
std::vector<Entry> merge(const SparseView &a, const SparseView &b) {
  std::vector<Entry> entries;
  int64_t i = 0, j = 0;
  while (i < a.count || j < b.count) {
    std::weak_ordering order = std::weak_ordering::less;
    if (i == a.count)
      order = std::weak_ordering::greater;
    else if (j < b.count)
      order = std::lexicographical_compare_three_way(a.index(i), a.index(i) + a.rank, b.index(j),
                                                     b.index(j) + b.rank);
    entries.push_back({order <= 0 ? i : -1, order >= 0 ? j : -1});
    i += order <= 0;
    j += order >= 0;
  }
  return entries;
}

bool readOperands(OpContext &ctx, std::optional<SparseView> &a, std::optional<SparseView> &b) {
  a = sparseInput(ctx, 0, 1, 2);
  if (!a)
    return false;
  b = sparseInput(ctx, 3, 4, 5);
  if (!b)
    return false;
  if (std::ranges::equal(a->shape(), b->shape()))
    return true;
  ctx.fail(invalidArgument("the operands' shapes must be equal, but are ", dimsText(a->shape()),
                           " and ", dimsText(b->shape())));
  return false;
}

/// Sets outputs 0 and 1 to the indices and values of the entries.
template <typename T>
bool setEntries(OpContext &ctx, const SparseView &a, const SparseView &b,
                const std::vector<Entry> &entries, const std::vector<T> &values) {
  auto count = static_cast<int64_t>(entries.size());
  Tensor *indices = ctx.allocateOutput(0, DType::Int64, {count, a.rank});
  Tensor *out = indices ? ctx.allocateOutput(1, a.values->dtype(), {count}) : nullptr;
  if (!out)
    return false;
  int64_t *index = indices->data<int64_t>();
  for (Entry entry : entries)
    index = std::copy_n(entry.a >= 0 ? a.index(entry.a) : b.index(entry.b), a.rank, index);
  std::copy(values.begin(), values.end(), out->data<T>());
  return true;
}

template <typename T> struct ComponentOfType {
  using Type = T;
};
template <typename T> struct ComponentOfType<std::complex<T>> {
  using Type = T;
};

template <typename T> struct Add {
  /// The type of thresholds for absolute values.
  using Threshold = typename ComponentOfType<T>::Type;

  static Threshold sizeOf(T value) {
    if constexpr (isComplexType<T>)
      return std::abs(value);
    else
      return value < T(0) ? static_cast<T>(Widened<T>(0) - Widened<T>(value)) : value;
  }

  static void run(OpContext &ctx) {
    std::optional<SparseView> a, b;
    if (!readOperands(ctx, a, b))
      return;
    const Tensor limit = ctx.input(6);
    if (limit.rank() != 0 || limit.dtype() != dtypeOf<Threshold>)
      return ctx.fail(invalidArgument("thresh must be a ", dtypeName(dtypeOf<Threshold>),
                                      " scalar, but is ", tensorTypeText(limit)));
    Threshold threshold = limit.scalarValue<Threshold>();
    const T *aValues = a->values->data<T>(), *bValues = b->values->data<T>();
    std::vector<Entry> kept;
    std::vector<T> sums;
    for (Entry entry : merge(*a, *b)) {
      T sum = entry.a < 0   ? bValues[entry.b]
              : entry.b < 0 ? aValues[entry.a]
                            : wrappingSum(aValues[entry.a], bValues[entry.b]);
      if (sizeOf(sum) < threshold)
        continue;
      kept.push_back(entry);
      sums.push_back(sum);
    }
    if (setEntries(ctx, *a, *b, kept, sums))
      ctx.setOutput(2, ctx.input(2));
  }
};

/// Missing entries count as zero.
template <bool isMaximum> struct MaxOrMin {
  template <typename T> struct Kernel {
    static void run(OpContext &ctx) {
      std::optional<SparseView> a, b;
      if (!readOperands(ctx, a, b))
        return;
      const T *aValues = a->values->data<T>(), *bValues = b->values->data<T>();
      std::vector<Entry> entries = merge(*a, *b);
      std::vector<T> values;
      for (Entry entry : entries) {
        T x = entry.a < 0 ? T(0) : aValues[entry.a], y = entry.b < 0 ? T(0) : bValues[entry.b];
        values.push_back((isMaximum ? x < y : y < x) ? y : x);
      }
      setEntries(ctx, *a, *b, entries, values);
    }
  };
};

template <template <typename> class Kernel, typename Types>
Expected<BoundKernel> bindMerge(const BindContext &node) {
  return bindForType<Kernel, Types>(node, node.inputTypes[1]);
}

const KernelEntry sparseMergeTable[] = {
    {"SparseAdd", bindMerge<Add, NumericTypes>},
    {"SparseSparseMaximum", bindMerge<MaxOrMin<true>::Kernel, RealTypes>},
    {"SparseSparseMinimum", bindMerge<MaxOrMin<false>::Kernel, RealTypes>},
};

} // namespace

std::span<const KernelEntry> sparseMergeKernels() { return sparseMergeTable; }

} // namespace treadle
