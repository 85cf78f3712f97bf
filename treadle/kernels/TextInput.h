// Inputs that are one text: paths, names, patterns.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <string>

namespace treadle {

/// The only text of input `i`; null, having failed. `what` is the input's name: `filename`.
inline const std::string *textInput(OpContext &ctx, int i, const char *what) {
  const Tensor &in = ctx.input(i);
  if (in.count() == 1)
    return in.data<std::string>();
  ctx.fail(
      invalidArgument(what, " (input ", i, ") must be a scalar, but it is ", tensorTypeText(in)));
  return nullptr;
}

} // namespace treadle
