// In-place updates of stored elements (of a variable, a tensor array's gradient, an accumulator):
// one set of operations for all of them, selected once by dtype.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

enum class Update : uint8_t { Assign, Add, Sub, Mul, Div, Min, Max };

/// Computes out[i] = a[i] (update) b[i], or b[0] for all i if `bSteps` is false; `out` may be `a`.
/// Integers wrap around. Returns false if an integer was divided by zero.
using UpdateLoop = bool (*)(void *out, const void *a, const void *b, bool bSteps, int64_t n);

/// Returns null if the dtype has no such operation. Assign is defined for every dtype.
UpdateLoop updateLoop(Update update, DType dtype);

/// Returns `a` + `b`, of one shape and dtype, in `a`'s buffer if nothing else shares it. Variants
/// add the values that they hold.
Expected<Tensor> addTensors(Tensor a, const Tensor &b);

/// Returns zeros of that shape; for variants, zeros of the values that they hold.
Expected<Tensor> zerosOf(DType dtype, Dims dims);
Expected<Tensor> zerosLikeTensor(const Tensor &like);

} // namespace treadle
