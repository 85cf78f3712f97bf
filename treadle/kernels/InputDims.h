// Checks of input shapes, for ops with many inputs.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <initializer_list>

namespace treadle {

/// Returns false, with ctx failed, unless input `i` has the shape `expected`.
inline bool checkDims(OpContext &ctx, int i, std::initializer_list<int64_t> expected) {
  Dims dims(expected.begin(), expected.size());
  if (std::ranges::equal(ctx.input(i).dims(), dims))
    return true;
  ctx.fail(invalidArgument("input ", i, " has shape ", dimsText(ctx.input(i).dims()), ", expected ",
                           dimsText(dims)));
  return false;
}

} // namespace treadle
