// `run --check`: compares a model's results with those stored in a file.
#pragma once

#include "treadle/tools/cli/Request.h"
#include "treadle/tools/cli/Stats.h"

namespace treadle::cli {

/// The difference between a value and the expected value.
struct Difference {
  bool isWithin = false;
  std::string text; // `largest difference 1e-07`, `equal`, or a description of the mismatch
};

/// Compares a result with the expected value. Integers, bools, strings, shapes and dtypes must be
/// equal; floating-point values may differ by 1e-5 of the expected value (float16 2e-3, bfloat16
/// and smaller 1e-2), and by a tenth of that where it is zero.
Difference compare(const Tensor &got, const Tensor &expected);

/// Makes the calls stored in the file, in order, on one session; prints one line for each output,
/// and `passed` or `failed`. Returns the exit status.
int check(const Request &request, const std::string &path, Stats &stats);

} // namespace treadle::cli
