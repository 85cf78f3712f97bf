// Changing the elements of something that is kept (a variable, a tensor array's gradient, an
// accumulator): the same few operations everywhere, chosen once by dtype.
#pragma once

#include "treadle/kernels/Element.h"

namespace treadle {

enum class Update : uint8_t { Assign, Add, Sub, Mul, Div, Min, Max };

/// out[i] = a[i] (update) b[i], or b[0] for all where b doesn't step; `out` may be `a`. Integers
/// wrap around. False: an integer was divided by zero.
using UpdateLoop = bool (*)(void *out, const void *a, const void *b, bool bSteps, int64_t n);

/// Null where the dtype has no such operation. Assign is defined for every dtype.
UpdateLoop updateLoop(Update update, DType dtype);

/// `a` + `b` of one shape and dtype, in `a`'s own elements if nobody else has them. Variants add
/// what they hold.
Expected<Tensor> addTensors(Tensor a, const Tensor &b);

/// Zeros of that shape; of what they hold, for variants.
Expected<Tensor> zerosOf(DType dtype, Dims dims);
Expected<Tensor> zerosLikeTensor(const Tensor &like);

} // namespace treadle
