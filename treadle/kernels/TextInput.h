// Inputs that are a single string: paths, names, patterns.
#pragma once

#include "treadle/runtime/Kernel.h"

#include <string>

namespace treadle {

/// Returns the string of input `i`; null, with ctx failed, if it isn't a single one. `what` is the
/// input's name, e.g. `filename`.
inline const std::string *textInput(OpContext &ctx, int i, const char *what) {
  const Tensor &in = ctx.input(i);
  if (in.count() == 1)
    return in.data<std::string>();
  ctx.fail(
      invalidArgument(what, " (input ", i, ") must be a scalar, but it is ", tensorTypeText(in)));
  return nullptr;
}

} // namespace treadle
