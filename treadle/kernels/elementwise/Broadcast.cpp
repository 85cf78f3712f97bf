// Broadcast plans.
#include "treadle/kernels/elementwise/Broadcast.h"

#include <algorithm>

namespace treadle {
namespace {

// Returns, as bits, which operands repeat along result dimension `d`, and the result's size there.
// Returns false if the sizes conflict.
template <int N>
bool dimensionOf(const std::array<Dims, N> &operands, int rank, int d, int64_t &size,
                 unsigned &repeats) {
  size = 1;
  repeats = 0;
  for (int k = 0; k < N; ++k) {
    int own = d - (rank - static_cast<int>(operands[k].size()));
    int64_t here = own < 0 ? 1 : operands[k][own];
    if (here == 1)
      repeats |= 1u << k;
    else if (size == 1)
      size = here;
    else if (size != here)
      return false;
  }
  return true;
}

} // namespace

template <int N> bool planBroadcast(const std::array<Dims, N> &operands, BroadcastPlan<N> &plan) {
  size_t rank = 0;
  for (Dims dims : operands)
    rank = std::max(rank, dims.size());
  plan.rank = static_cast<int>(rank);
  plan.loops = 0;
  unsigned repeatsOf[BroadcastPlan<N>::maxRank];
  for (int d = 0; d < plan.rank; ++d) {
    int64_t size;
    unsigned repeats;
    if (!dimensionOf<N>(operands, plan.rank, d, size, repeats))
      return false;
    plan.dims[d] = size;
    if (size == 1)
      continue;
    int64_t merged;
    if (plan.loops && repeatsOf[plan.loops - 1] == repeats &&
        !__builtin_mul_overflow(plan.size[plan.loops - 1], size, &merged)) {
      plan.size[plan.loops - 1] = merged;
      continue;
    }
    plan.size[plan.loops] = size;
    repeatsOf[plan.loops++] = repeats;
  }
  if (plan.loops == 0) {
    plan.size[0] = 1;
    repeatsOf[plan.loops++] = 0;
  }
  plan.count = countElements(plan.resultDims()).value_or(-1);
  for (int k = 0; k < N; ++k) {
    int64_t step = 1;
    for (int i = plan.loops - 1; i >= 0; --i) {
      bool repeats = repeatsOf[i] >> k & 1;
      plan.stride[k][i] = repeats ? 0 : step;
      if (!repeats && plan.count > 0)
        step *= plan.size[i];
    }
  }
  return true;
}

template bool planBroadcast<2>(const std::array<Dims, 2> &, BroadcastPlan<2> &);
template bool planBroadcast<3>(const std::array<Dims, 3> &, BroadcastPlan<3> &);
template bool planBroadcast<4>(const std::array<Dims, 4> &, BroadcastPlan<4> &);

} // namespace treadle
