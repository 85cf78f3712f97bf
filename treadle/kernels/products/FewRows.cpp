// multiplyFewRows keeps a block of result columns in registers while it streams the rows of the
// right operand.
#include "treadle/kernels/products/FewRows.h"

#include "treadle/kernels/RunningTotal.h"

#include <algorithm>
#include <cstring>
#include <utility>

// Contraction, as in every library's matrix products: one rounding per multiply-add.
#pragma clang fp contract(fast)

namespace treadle {
namespace {

/// Number of products that are added before the sum is added to the total.
constexpr int64_t productsOfSum = 192;

constexpr int vectorBytes = 32;
constexpr int64_t maxRows = 6;
/// Number of rows of b that are prefetched ahead of use.
constexpr int64_t prefetchDistance = 8;

template <typename T> struct VectorOf {
  static constexpr int size = vectorBytes / sizeof(T);
  typedef T Type __attribute__((vector_size(vectorBytes)));
  static Type load(const T *from) {
    Type value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
  static void store(T *to, Type value) { std::memcpy(to, &value, sizeof value); }
};

/// Sums of at most `productsOfSum` products, of `rows` rows of `width` columns.
template <typename T, int rows, int width> class Totals {
public:
  void add(const T (&partial)[rows][width]) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < width; ++j)
        total[i][j].add(partial[i][j]);
  }
  void store(const Product &p, T *out) const {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < width; ++j)
        out[i * p.n + j] = total[i][j].value();
  }

private:
  RunningTotal<T> total[rows][width];
};

/// Computes result columns [j, j + vectors * size) of `rows` rows.
template <typename T, int rows, int vectors>
void multiplyBlock(const Product &p, const T *a, const T *b, T *out, int64_t j) {
  using V = VectorOf<T>;
  Totals<T, rows, vectors * V::size> totals;
  for (int64_t begin = 0, end; begin < p.k; begin = end) {
    end = std::min(p.k, begin + productsOfSum);
    typename V::Type sum[rows][vectors] = {};
    for (int64_t l = begin; l < end; ++l) {
      const T *from = b + l * p.n + j;
      for (int v = 0; v < vectors; v += 64 / vectorBytes)
        __builtin_prefetch(from + prefetchDistance * p.n + v * V::size);
      typename V::Type row[vectors];
      for (int v = 0; v < vectors; ++v)
        row[v] = V::load(from + v * V::size);
      for (int i = 0; i < rows; ++i)
        for (int v = 0; v < vectors; ++v)
          sum[i][v] += a[i * p.k + l] * row[v];
    }
    T partial[rows][vectors * V::size];
    bool isWhole = begin == 0 && end == p.k;
    for (int i = 0; i < rows; ++i)
      for (int v = 0; v < vectors; ++v)
        V::store(isWhole ? out + i * p.n + j + v * V::size : partial[i] + v * V::size, sum[i][v]);
    if (isWhole)
      return;
    totals.add(partial);
  }
  totals.store(p, out + j);
}

template <typename T, int rows>
void multiplyColumn(const Product &p, const T *a, const T *b, T *out, int64_t j) {
  Totals<T, rows, 1> totals;
  for (int64_t begin = 0, end; begin < p.k; begin = end) {
    end = std::min(p.k, begin + productsOfSum);
    T sum[rows][1] = {};
    for (int64_t l = begin; l < end; ++l)
      for (int i = 0; i < rows; ++i)
        sum[i][0] += a[i * p.k + l] * b[l * p.n + j];
    totals.add(sum);
  }
  totals.store(p, out + j);
}

template <typename T, int rows>
void multiplyRows(const Product &p, const T *a, const T *b, T *out) {
  constexpr int size = VectorOf<T>::size;
  // Enough sums at a time to keep the multipliers busy, few enough for 16 registers.
  constexpr int vectors = rows == 1 ? 8 : rows == 2 ? 4 : 2;
  int64_t j = 0;
  for (; j + vectors * size <= p.n; j += vectors * size)
    multiplyBlock<T, rows, vectors>(p, a, b, out, j);
  for (; j + size <= p.n; j += size)
    multiplyBlock<T, rows, 1>(p, a, b, out, j);
  for (; j < p.n; ++j)
    multiplyColumn<T, rows>(p, a, b, out, j);
}

template <typename T, int... rows>
bool dispatch(const Product &p, const T *a, const T *b, T *out,
              std::integer_sequence<int, rows...>) {
  return ((p.m == rows + 1 && (multiplyRows<T, rows + 1>(p, a, b, out), true)) || ...);
}

template <typename T> bool multiply(const Product &p, const T *a, const T *b, T *out) {
  if (p.m > maxRows || p.bTransposed || (p.aTransposed && p.m > 1) || p.n < VectorOf<T>::size)
    return false;
  return dispatch(p, a, b, out, std::make_integer_sequence<int, maxRows>());
}

} // namespace

bool multiplyFewRows(const Product &p, const float *a, const float *b, float *out) {
  return multiply(p, a, b, out);
}
bool multiplyFewRows(const Product &p, const double *a, const double *b, double *out) {
  return multiply(p, a, b, out);
}

} // namespace treadle
