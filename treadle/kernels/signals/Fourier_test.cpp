#include "treadle/testing/KernelTest.h"

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
  // Shorter than the input, which is truncated.
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

TEST(Fourier, MatchesDefinition) {
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

/// Pseudorandom numbers.
template <typename T> std::vector<T> noise(int64_t count) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(T(std::cos(0.7 * static_cast<double>(i * i % 1000003))));
  return values;
}

template <typename T> double largestDifference(const Tensor &a, const Tensor &b) {
  EXPECT_EQ(dimsText(a.dims()), dimsText(b.dims()));
  double largest = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    largest = std::max<double>(largest, std::abs(a.data<T>()[i] - b.data<T>()[i]));
  return largest;
}

// Results don't depend on the number of lines: they agree, up to float rounding, with a line in
// double precision, which is checked with sums above.
TEST(Fourier, ResultsDontDependOnNumberOfLines) {
  for (int64_t length : {1, 2, 5, 16, 17, 30, 64, 97, 256, 400})
    for (int64_t count : {1, 2, 3, 15, 16, 17, 21, 40}) {
      SCOPED_TRACE(std::to_string(count) + " lines of " + std::to_string(length));
      Tensor lines = tensor<double>({count, length}, noise<double>(count * length));
      Tensor size = vec<int32_t>({static_cast<int32_t>(length)});
      Tensor spectra = run1("RFFT", {lines, size}, DType::Complex128);
      Tensor back = run1("IRFFT", {spectra, size}, DType::Float64);
      EXPECT_LT(largestDifference<double>(back, lines), 1e-13 * static_cast<double>(length));
      for (int64_t i = 0; i < count; i += 7) {
        Tensor one = tensor<double>({1, length}, {lines.data<double>() + i * length,
                                                  lines.data<double>() + (i + 1) * length});
        Tensor alone = run1("RFFT", {one, size}, DType::Complex128);
        for (int64_t k = 0; k <= length / 2; ++k)
          EXPECT_NEAR(std::abs(alone.data<Complex128>()[k] -
                               spectra.data<Complex128>()[i * (length / 2 + 1) + k]),
                      0, 1e-13 * static_cast<double>(length));
      }
      Tensor floats = tensor<float>({count, length}, noise<float>(count * length));
      Tensor narrow = run1("RFFT", {floats, size}, DType::Complex64);
      Tensor widened = run1("Cast", {narrow}, DType::Complex128);
      EXPECT_LT(largestDifference<Complex128>(widened, spectra),
                1e-6 * std::sqrt(static_cast<double>(length)) + 1e-6);
    }
}

// Lengths that are treated as matrices, some of whose rows and columns don't fill vectors.
TEST(Fourier, LongLines) {
  for (int64_t length : {256, 306, 1000, 1024, 1009, 1122, 2018, 20480, 32768, 65536, 100003})
    for (int64_t count : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(count) + " lines of " + std::to_string(length));
      Tensor lines = tensor<Complex128>({count, length}, noise<Complex128>(count * length));
      Tensor spectra = run1("FFT", {lines});
      // Checks one number of the spectrum by its sum, and all by the inverse.
      int64_t k = length / 3;
      Complex128 sum = 0;
      for (int64_t i = 0; i < length; ++i)
        sum += lines.data<Complex128>()[i] *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i * k % length) /
                                   static_cast<double>(length));
      EXPECT_NEAR(std::abs(spectra.data<Complex128>()[k] - sum), 0, 1e-9);
      EXPECT_LT(largestDifference<Complex128>(run1("IFFT", {spectra}), lines), 1e-12);
      Tensor reals = run1("Real", {lines}, DType::Float64);
      Tensor size = vec<int32_t>({static_cast<int32_t>(length)});
      Tensor half = run1("RFFT", {reals, size}, DType::Complex128);
      EXPECT_NEAR(std::abs(half.data<Complex128>()[k] - sum), 0, 1e-9);
      EXPECT_LT(largestDifference<double>(run1("IRFFT", {half, size}, DType::Float64), reals),
                1e-12);
    }
}

// Lines along the first of two dimensions are adjacent; some groups fill vectors.
TEST(Fourier, AdjacentLines) {
  for (auto [rows, columns] : {std::pair{5, 1}, {8, 7}, {12, 32}, {33, 37}, {1024, 3}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    Tensor image = tensor<Complex128>({2, rows, columns}, noise<Complex128>(2 * rows * columns));
    Tensor order = vec<int32_t>({0, 2, 1});
    auto turned = [&](const Tensor &t) { return run1("Transpose", {t, order}); };
    Tensor byLines = turned(run1("FFT", {turned(run1("FFT", {image}))}));
    EXPECT_LT(largestDifference<Complex128>(run1("FFT2D", {image}), byLines), 1e-10);
    EXPECT_LT(largestDifference<Complex128>(run1("IFFT2D", {byLines}), image), 1e-12);
  }
}

// Imaginary parts that the spectrum of real data can't have aren't read.
TEST(Fourier, RedundantHalfIsIgnored) {
  for (int64_t count : {1, 16})
    for (int64_t length : {4, 512}) {
      int64_t half = length / 2 + 1;
      std::vector<Complex128> plain = noise<Complex128>(count * half), odd = plain;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t at : {i * half, i * half + half - 1})
          odd[static_cast<size_t>(at)] += Complex128(0, 5);
      Tensor size = vec<int32_t>({static_cast<int32_t>(length)});
      Tensor expected =
          run1("IRFFT", {tensor<Complex128>({count, half}, plain), size}, DType::Float64);
      Tensor found = run1("IRFFT", {tensor<Complex128>({count, half}, odd), size}, DType::Float64);
      EXPECT_LT(largestDifference<double>(found, expected), 1e-15);
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
  // The same spectrum with an additional row and column, which the inverse doesn't read.
  std::vector<Complex128> padded(2 * 4 * 4, Complex128(99, 99));
  for (size_t i = 0; i < 2; ++i)
    for (size_t row = 0; row < 3; ++row)
      std::copy_n(&expected[(i * 3 + row) * 3], 3, &padded[(i * 4 + row) * 4]);
  expectNear<double>(
      run1("IRFFT2D", {tensor<Complex128>({2, 4, 4}, padded), length}, DType::Float64), cut, 1e-12);
}

TEST(Fourier, InverseOfTwoDimensionsDividesOnce) {
  // 1 / (3 * 5) of the sum, not a third of a fifth, which is another float.
  Tensor ones = tensor<float>({3, 5}, std::vector<float>(15, 7)), length = vec<int32_t>({3, 5});
  Tensor spectrum = run1("RFFT2D", {ones, length}, DType::Complex64);
  float sum = spectrum.data<Complex64>()[0].real();
  Tensor point = *Tensor::make(DType::Complex64, {3, 3});
  std::fill_n(point.data<Complex64>(), 9, Complex64());
  point.data<Complex64>()[0] = sum;
  EXPECT_EQ(run1("IRFFT2D", {point, length}, DType::Float32).data<float>()[0],
            sum * (1.0f / 15.0f));
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
