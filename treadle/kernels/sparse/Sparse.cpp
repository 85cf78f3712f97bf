#include "treadle/kernels/sparse/Sparse.h"

#include <algorithm>
#include <numeric>

namespace treadle {

std::optional<SparseView> sparseInput(OpContext &ctx, int indices, int values, int shape) {
  const Tensor &i = ctx.input(indices), &v = ctx.input(values), &s = ctx.input(shape);
  bool isGood = i.rank() == 2 && v.rank() == 1 && s.rank() == 1 && i.dim(0) == v.dim(0) &&
                i.dim(1) == s.dim(0);
  for (int64_t d = 0; isGood && d < s.count(); ++d)
    isGood = s.data<int64_t>()[d] >= 0;
  if (isGood)
    return SparseView{i.data<int64_t>(), &v, s.data<int64_t>(), v.dim(0), s.dim(0)};
  ctx.fail(invalidArgument("indices, values and shape (inputs ", indices, ", ", values, ", ", shape,
                           ") are ", tensorTypeText(i), ", ", tensorTypeText(v), " and ",
                           tensorTypeText(s), ", expected [n,r], [n] and [r] dimensions >= 0"));
  return std::nullopt;
}

bool checkInside(OpContext &ctx, const SparseView &sparse) {
  for (int64_t e = 0; e < sparse.count; ++e)
    for (int64_t d = 0; d < sparse.rank; ++d)
      if (int64_t at = sparse.index(e)[d]; at < 0 || at >= sparse.dims[d]) {
        ctx.fail(invalidArgument("indices[", e, ",", d, "] is ", at, ", expected one in [0, ",
                                 sparse.dims[d], ")"));
        return false;
      }
  return true;
}

std::vector<int64_t> rowMajorOrder(const SparseView &sparse) {
  std::vector<int64_t> order(sparse.count);
  std::iota(order.begin(), order.end(), 0);
  auto precedes = [&](int64_t a, int64_t b) {
    auto difference =
        std::lexicographical_compare_three_way(sparse.index(a), sparse.index(a) + sparse.rank,
                                               sparse.index(b), sparse.index(b) + sparse.rank);
    return difference < 0 || (difference == 0 && a < b);
  };
  if (!std::ranges::is_sorted(order, precedes))
    std::ranges::sort(order, precedes);
  return order;
}

} // namespace treadle
