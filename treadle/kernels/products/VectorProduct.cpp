#include "treadle/kernels/products/VectorProduct.h"

#include "treadle/kernels/RunningTotal.h"
#include "treadle/kernels/products/Tile.h"

#include <algorithm>
#include <cstring>
#include <vector>

// Contraction, as in every library's matrix products: one rounding per multiply-add.
#pragma clang fp contract(fast)

namespace treadle {
namespace {

/// Number of products that are added before the sum is added to the total.
constexpr int64_t productsOfSum = 192;

/// Number of rows that are multiplied at a time, and of sums per row: as many as registers hold.
constexpr int rowsAtOnce = tileLanes == 16 ? 4 : 2, sumsOfRow = 4;

template <typename T> struct Lanes {
  static constexpr int size = tileLanes * static_cast<int>(sizeof(float)) / sizeof(T);
  typedef T Vector __attribute__((vector_size(size * sizeof(T))));
  static Vector load(const T *from) {
    Vector value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
};

/// Multiplies whole vectors from `begin` to `end` of a few rows: sums of sums, lane by lane.
template <typename T, int rows>
[[gnu::always_inline]] inline void multiplyLanes(const T *const (&row)[rows], const T *x,
                                                 int64_t begin, int64_t end,
                                                 typename Lanes<T>::Vector (&total)[rows]) {
  using L = Lanes<T>;
  constexpr int64_t step = sumsOfRow * L::size, stepsOfSum = 64;
  while (begin < end) {
    typename L::Vector sum[rows][sumsOfRow] = {};
    int64_t last = std::min(end, begin + stepsOfSum * step);
    for (; begin + step <= last; begin += step)
#pragma unroll
      for (int k = 0; k < sumsOfRow; ++k) {
        typename L::Vector right = L::load(x + begin + k * L::size);
#pragma unroll
        for (int r = 0; r < rows; ++r)
          sum[r][k] += L::load(row[r] + begin + k * L::size) * right;
      }
    for (; begin < last; begin += L::size) {
      typename L::Vector right = L::load(x + begin);
#pragma unroll
      for (int r = 0; r < rows; ++r)
        sum[r][0] += L::load(row[r] + begin) * right;
    }
#pragma unroll
    for (int r = 0; r < rows; ++r)
      total[r] += (sum[r][0] + sum[r][1]) + (sum[r][2] + sum[r][3]);
  }
}

template <typename T> T foldLanes(typename Lanes<T>::Vector lanes) {
  T values[Lanes<T>::size];
  std::memcpy(values, &lanes, sizeof values);
  for (int width = Lanes<T>::size / 2; width; width /= 2)
    for (int i = 0; i < width; ++i)
      values[i] += values[i + width];
  return values[0];
}

template <typename T, int rows>
void multiplySome(const T *matrix, int64_t stride, int64_t depth, const T *x, T *out) {
  using L = Lanes<T>;
  constexpr int64_t longest = int64_t{1} << 17;
  const T *row[rows];
  for (int r = 0; r < rows; ++r)
    row[r] = matrix + r * stride;
  RunningTotal<T> total[rows];
  int64_t whole = depth / L::size * L::size;
  for (int64_t begin = 0; begin < whole; begin += longest) {
    typename L::Vector lanes[rows] = {};
    multiplyLanes<T, rows>(row, x, begin, std::min(whole, begin + longest), lanes);
    for (int r = 0; r < rows; ++r)
      total[r].add(foldLanes<T>(lanes[r]));
  }
  for (int r = 0; r < rows; ++r) {
    T rest = 0;
    for (int64_t i = whole; i < depth; ++i)
      rest += row[r][i] * x[i];
    total[r].add(rest);
    out[r] = total[r].value();
  }
}

} // namespace

template <typename T>
void multiplyRowsByVector(const T *matrix, int64_t stride, int64_t rows, int64_t depth, const T *x,
                          T *out) {
  int64_t r = 0;
  for (; r + rowsAtOnce <= rows; r += rowsAtOnce)
    multiplySome<T, rowsAtOnce>(matrix + r * stride, stride, depth, x, out + r);
  for (; r < rows; ++r)
    multiplySome<T, 1>(matrix + r * stride, stride, depth, x, out + r);
}

template <typename T>
void multiplyColumnsByVector(const T *matrix, int64_t stride, int64_t rows, int64_t depth,
                             const T *x, T *out) {
  using Matrix =
      Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  auto multiply = [&](int64_t begin, int64_t count, T *to) {
    Eigen::Map<Vector>(to, rows).noalias() =
        Matrix(matrix + begin * stride, rows, count, Eigen::OuterStride<>(stride)) *
        Eigen::Map<const Vector>(x + begin, count);
  };
  if (depth <= productsOfSum)
    return multiply(0, depth, out);
  std::vector<RunningTotal<T>> total(static_cast<size_t>(rows));
  for (int64_t begin = 0; begin < depth; begin += productsOfSum) {
    multiply(begin, std::min(productsOfSum, depth - begin), out);
    for (int64_t r = 0; r < rows; ++r)
      total[static_cast<size_t>(r)].add(out[r]);
  }
  std::transform(total.begin(), total.end(), out, [](const auto &sum) { return sum.value(); });
}

#define TREADLE_INSTANTIATE(T)                                                                     \
  template void multiplyRowsByVector<T>(const T *, int64_t, int64_t, int64_t, const T *, T *);     \
  template void multiplyColumnsByVector<T>(const T *, int64_t, int64_t, int64_t, const T *, T *);
TREADLE_INSTANTIATE(float)
TREADLE_INSTANTIATE(double)
#undef TREADLE_INSTANTIATE

} // namespace treadle
