#include "treadle/kernels/KernelTest.h"

#include <numbers>

namespace treadle {
namespace {

void expectComplex(const Tensor &t, const std::vector<Complex128> &expected) {
  ASSERT_TRUE(t);
  ASSERT_EQ(t.count(), static_cast<int64_t>(expected.size()));
  for (int64_t i = 0; i < t.count(); ++i)
    EXPECT_NEAR(std::abs(t.data<Complex128>()[i] - expected[static_cast<size_t>(i)]), 0, 1e-12)
        << "element " << i;
}

TEST(Fourier, ThereAndBack) {
  std::vector<Complex128> x = {1, {2, 1}, 0, {0, -1}};
  Tensor spectrum = run1("FFT", {vec(x)});
  expectComplex(spectrum, {3, {3, -2}, -1, {-1, 2}});
  expectComplex(run1("IFFT", {spectrum}), x);
  std::vector<Complex128> image = {1, 2, 3, 4, 5, 6};
  Tensor t = tensor<Complex128>({2, 3}, image);
  expectComplex(run1("IFFT2D", {run1("FFT2D", {t})}), image);
}

TEST(Fourier, RealSpectraAreHalf) {
  Tensor x = tensor<double>({1, 4}, {1, 2, 3, 4}), length = vec<int32_t>({4});
  Tensor spectrum = run1("RFFT", {x, length}, DType::Complex128);
  expectComplex(spectrum, {10, {-2, 2}, -2});
  expectNear<double>(run1("IRFFT", {spectrum, length}, DType::Float64), {1, 2, 3, 4}, 1e-12);
  // Shorter than the input: the rest is left out.
  expectComplex(run1("RFFT", {x, vec<int32_t>({2})}, DType::Complex128), {3, -1});
}

TEST(Fourier, TwoDimensionsOfRealData) {
  Tensor x = iota<double>({3, 5}, 1), length = vec<int32_t>({3, 5});
  Tensor back =
      run1("IRFFT2D", {run1("RFFT2D", {x, length}, DType::Complex128), length}, DType::Float64);
  std::vector<double> expected;
  for (int i = 1; i <= 15; ++i)
    expected.push_back(i);
  expectNear<double>(back, expected, 1e-12);
}

TEST(Fourier, AreTheSumsThatDefineThem) {
  for (int64_t n : {1, 2, 3, 12, 97, 251}) {
    std::vector<Complex128> x, sums;
    for (int64_t i = 0; i < 2 * n; ++i) // two lines
      x.push_back({std::cos(0.7 * static_cast<double>(i * i)), i == 1 ? 1.0 : 0.0});
    for (int64_t k = 0; k < 2 * n; ++k) {
      Complex128 sum = 0;
      for (int64_t i = 0; i < n; ++i)
        sum += x[static_cast<size_t>(k / n * n + i)] *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i * k % n) /
                                   static_cast<double>(n));
      sums.push_back(sum);
    }
    expectComplex(run1("FFT", {tensor<Complex128>({2, n}, x)}), sums);
  }
}

TEST(Fourier, RealDataIsCutInAllDimensions) {
  Tensor large = iota<double>({2, 4, 7}, 1), length = vec<int32_t>({3, 5});
  std::vector<double> cut;
  for (int i : {0, 1})
    for (int row : {0, 1, 2})
      for (int column : {0, 1, 2, 3, 4})
        cut.push_back(1 + i * 28 + row * 7 + column);
  Tensor spectrum = run1("RFFT2D", {tensor<double>({2, 3, 5}, cut), length}, DType::Complex128);
  std::vector<Complex128> expected(spectrum.data<Complex128>(),
                                   spectrum.data<Complex128>() + spectrum.count());
  expectComplex(run1("RFFT2D", {large, length}, DType::Complex128), expected);
  // The same spectrum with a row and a column more, which the inverse doesn't read.
  std::vector<Complex128> padded(2 * 4 * 4, Complex128(99, 99));
  for (size_t i = 0; i < 2; ++i)
    for (size_t row = 0; row < 3; ++row)
      std::copy_n(&expected[(i * 3 + row) * 3], 3, &padded[(i * 4 + row) * 4]);
  expectNear<double>(
      run1("IRFFT2D", {tensor<Complex128>({2, 4, 4}, padded), length}, DType::Float64), cut, 1e-12);
}

TEST(Fourier, WrongShapes) {
  Tensor x = vec<double>({1, 2});
  EXPECT_EQ(errorClassOf("FFT", {scalar<Complex128>(1)}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("RFFT", {x, vec<int32_t>({3})}, {DType::Complex128}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("RFFT", {x, vec<int32_t>({-1})}, {DType::Complex128}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("RFFT", {x, vec<int32_t>({1, 1})}, {DType::Complex128}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
