// What ops with many inputs of stated shapes check.
#pragma once

#include "treadle/kernels/Element.h"

#include <algorithm>
#include <initializer_list>

namespace treadle {

/// False, having failed, where input `i` has another shape.
inline bool checkDims(OpContext &ctx, int i, std::initializer_list<int64_t> expected) {
  Dims dims(expected.begin(), expected.size());
  if (std::ranges::equal(ctx.input(i).dims(), dims))
    return true;
  ctx.fail(invalidArgument("input ", i, " has shape ", dimsText(ctx.input(i).dims()), ", expected ",
                           dimsText(dims)));
  return false;
}

} // namespace treadle
