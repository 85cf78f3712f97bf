#include "treadle/kernels/RunningTotal.h"

#include "treadle/kernels/products/VectorProduct.h"
#include "treadle/testing/KernelTest.h"

#include <cmath>
#include <limits>

namespace treadle {
namespace {

/// The error of `got` in units in the last place of the exact value.
template <typename T> double ulpsFrom(T got, long double exact) {
  T value = static_cast<T>(exact);
  T unit = std::nextafter(value, std::numeric_limits<T>::infinity()) - value;
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) / unit);
}

template <typename T> std::vector<T> numbers(int64_t n) {
  std::vector<T> x(static_cast<size_t>(n));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<T>(static_cast<double>((i * 2654435761U) % 1000003) / 1000003);
  return x;
}

template <typename T> void expectExactTotal() {
  RunningTotal<T> total;
  long double exact = 0;
  for (T x : numbers<T>(200'000)) {
    total.add(x);
    exact += static_cast<long double>(x);
  }
  EXPECT_LE(ulpsFrom(total.value(), exact), 0.51);
}

TEST(RunningTotal, IsRoundedOnce) {
  expectExactTotal<float>();
  expectExactTotal<double>();
}

TEST(RunningTotal, IntegersWrapAroundAndInfinitiesStay) {
  RunningTotal<uint8_t> bytes;
  bytes.add(200);
  bytes.add(100);
  EXPECT_EQ(bytes.value(), 44);
  const double inf = std::numeric_limits<double>::infinity();
  RunningTotal<double> total;
  for (double x : {1.0, inf, 1.0})
    total.add(x);
  EXPECT_EQ(total.value(), inf);
  total.add(-inf);
  EXPECT_TRUE(std::isnan(total.value()));
}

template <typename T> void expectProducts(int64_t rows, int64_t depth) {
  std::vector<T> matrix = numbers<T>(rows * depth), x = numbers<T>(depth), byRows(matrix.size()),
                 out(static_cast<size_t>(rows)), other(out);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < depth; ++i)
      byRows[static_cast<size_t>(r * depth + i)] = matrix[static_cast<size_t>(i * rows + r)];
  multiplyRowsByVector(byRows.data(), depth, rows, depth, x.data(), out.data());
  multiplyColumnsByVector(matrix.data(), rows, rows, depth, x.data(), other.data());
  for (int64_t r = 0; r < rows; ++r) {
    long double exact = 0;
    for (int64_t i = 0; i < depth; ++i)
      exact += static_cast<long double>(byRows[static_cast<size_t>(r * depth + i)]) *
               static_cast<long double>(x[static_cast<size_t>(i)]);
    EXPECT_LE(ulpsFrom(out[static_cast<size_t>(r)], exact), 4) << rows << " x " << depth;
    EXPECT_LE(ulpsFrom(other[static_cast<size_t>(r)], exact), 4) << rows << " x " << depth;
  }
}

TEST(VectorProduct, LongSumsAreAccurate) {
  for (int64_t rows : {1, 2, 3, 4, 5, 9})
    for (int64_t depth : {1, 7, 64, 257, 5000, 300'001}) {
      expectProducts<float>(rows, depth);
      expectProducts<double>(rows, depth);
    }
}

} // namespace
} // namespace treadle
