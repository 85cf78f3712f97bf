#include "treadle/kernels/KernelTest.h"

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
