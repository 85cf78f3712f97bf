// `run --check`: a model's answers beside those that a file holds.
#pragma once

#include "treadle/tools/cli/Request.h"
#include "treadle/tools/cli/Stats.h"

namespace treadle::cli {

/// How a value differs from what was expected of it.
struct Difference {
  bool isWithin = false;
  std::string text; // `largest difference 1e-07`, `equal`, or what is wrong
};

/// Integers, bools, strings, shapes and dtypes must be equal; floating values may differ by 1e-5 of
/// the expected value (float16 2e-3, bfloat16 and smaller 1e-2), and a tenth of that where it is
/// zero.
Difference compare(const Tensor &got, const Tensor &expected);

/// Makes the calls that the file holds, in order, on one session; prints a line an output, and
/// `passed` or `failed`. The exit status.
int check(const Request &request, const std::string &path, Stats &stats);

} // namespace treadle::cli
