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

/// Updates `count` rows of `width` elements one after the other: row `targets[i]` of `out` by row
/// `sources[i]` of `b`, both counted in elements. Rows at negative targets are skipped. Returns
/// false if an integer was divided by zero.
using RowsUpdateLoop = bool (*)(void *out, const int64_t *targets, const void *b,
                                const int64_t *sources, int64_t count, int64_t width);

/// Returns null where `updateLoop` does.
RowsUpdateLoop rowsUpdateLoop(Update update, DType dtype);

/// The RowsUpdateLoop that updates each row by `elements`, which takes elements of type T.
template <typename T, UpdateLoop elements>
bool updateRows(void *out, const int64_t *targets, const void *b, const int64_t *sources,
                int64_t count, int64_t width) {
  auto *to = static_cast<T *>(out);
  auto *from = static_cast<const T *>(b);
  auto run = [&](int64_t rowWidth) {
    for (int64_t i = 0; i < count; ++i)
      if (targets[i] >= 0) {
        T *row = to + targets[i];
        if (!elements(row, row, from + sources[i], true, rowWidth))
          return false;
      }
    return true;
  };
  return width == 1 ? run(1) : run(width); // the compiler removes the loop over one element
}

/// Returns `a` + `b`, of one shape and dtype, in `a`'s buffer if nothing else shares it. Variants
/// add the values that they hold.
Expected<Tensor> addTensors(Tensor a, const Tensor &b);

/// Returns zeros of that shape; for variants, zeros of the values that they hold.
Expected<Tensor> zerosOf(DType dtype, Dims dims);
Expected<Tensor> zerosLikeTensor(const Tensor &like);

} // namespace treadle
