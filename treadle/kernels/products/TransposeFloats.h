// Transposition of float matrices in registers.
#pragma once

#include "treadle/kernels/products/Tile.h"

#include <cstring>
#include <utility>

namespace treadle {

/// A square of floats, with as many rows as each has elements.
struct FloatSquare {
  typedef float Vector __attribute__((vector_size(tileLanes * sizeof(float))));
  Vector rows[tileLanes];

  /// Transposes by exchanging halves of rows, then quarters and so on (Eklundh, "A Fast Computer
  /// Method for Matrix Transposing", 1972).
  [[gnu::always_inline]] void transpose() {
    exchange<tileLanes / 2>(std::make_integer_sequence<int, tileLanes>());
  }

private:
  template <int step, int... i>
  [[gnu::always_inline]] void exchange(std::integer_sequence<int, i...> all) {
#pragma unroll
    for (int r = 0; r < tileLanes; ++r) {
      if (r & step)
        continue;
      const Vector a = rows[r], b = rows[r + step];
      rows[r] = __builtin_shufflevector(a, b, (i & step ? tileLanes + i - step : i)...);
      rows[r + step] = __builtin_shufflevector(a, b, (i & step ? tileLanes + i : i + step)...);
    }
    if constexpr (step > 1)
      exchange<step / 2>(all);
  }
};

/// Sets to[at(i) + c] = from[c * stride + i], for `width` rows c of `count` elements. May also read
/// the elements between rows.
template <typename At>
void transposeFloats(const float *from, int64_t stride, int64_t width, int64_t count, float *to,
                     const At &at) {
  int64_t wholeRows = width - width % tileLanes, whole = count - count % tileLanes;
  auto turned = [&](int64_t c, int64_t i) {
    FloatSquare square;
#pragma unroll
    for (int r = 0; r < tileLanes; ++r)
      std::memcpy(&square.rows[r], from + (c + r) * stride + i, sizeof square.rows[r]);
    square.transpose();
    return square;
  };
  for (int64_t i = 0; i < whole; i += tileLanes)
    for (int64_t c = 0; c < wholeRows; c += tileLanes) {
      const FloatSquare square = turned(c, i);
#pragma unroll
      for (int r = 0; r < tileLanes; ++r)
        std::memcpy(to + at(i + r) + c, &square.rows[r], sizeof square.rows[r]);
    }
  // The last columns, together with the elements that follow them in memory, or that precede them.
  int64_t rowsDone = 0;
  for (; whole < count && rowsDone < wholeRows; rowsDone += tileLanes) {
    int64_t end = rowsDone * stride + (tileLanes - 1) * stride + whole + tileLanes, first = whole;
    if (end > (width - 1) * stride + count)
      first = count - tileLanes;
    if (rowsDone * stride + first < 0)
      break;
    const FloatSquare square = turned(rowsDone, first);
    for (int64_t i = whole; i < count; ++i)
      std::memcpy(to + at(i) + rowsDone, &square.rows[i - first], sizeof square.rows[0]);
  }
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = i < whole ? wholeRows : rowsDone; c < width; ++c)
      to[at(i) + c] = from[c * stride + i];
}

} // namespace treadle
