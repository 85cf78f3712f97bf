// Functions of matrices, least squares, banded matrices and eigenvalues.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

TEST(MatrixFunctions, OfTriangularMatrices) {
  expectNear<double>(run1("MatrixSquareRoot", {tensor<double>({2, 2}, {4, 1, 0, 9})}),
                     {2, .2, 0, 3}, 1e-12);
  expectNear<float>(run1("MatrixExponential", {tensor<float>({1, 2, 2}, {0, 1, 0, 0})}),
                    {1, 1, 0, 1});
  Tensor log = run1("MatrixLogarithm", {tensor<Complex128>({2, 2}, {1, 1, 0, 1})});
  EXPECT_NEAR(std::abs(log.data<Complex128>()[1] - 1.0), 0, 1e-12);
  EXPECT_NEAR(std::abs(log.data<Complex128>()[0]), 0, 1e-12);
  Tensor zero = tensor<Complex128>({3, 3}, std::vector<Complex128>(9));
  EXPECT_TRUE(std::isnan(run1("MatrixLogarithm", {zero}).data<Complex128>()[0].real()));
  EXPECT_EQ(errorClassOf("MatrixExponential", {tensor<float>({1, 2}, {0, 1})}),
            "InvalidArgumentError");
}

TEST(MatrixFunctions, NonRealRootsAreNaN) {
  Tensor root = run1("MatrixSquareRoot", {tensor<double>({2, 2}, {-1, 0, 0, 4})});
  EXPECT_TRUE(std::isnan(root.data<double>()[0]));
}

TEST(LeastSquares, TallWideAndSingular) {
  Tensor none = scalar<double>(0);
  expectNear<float>(run1("MatrixSolveLs", {tensor<float>({3, 2}, {1, 0, 0, 2, 0, 0}),
                                           tensor<float>({3, 1}, {1, 4, 3}), none}),
                    {1, 2});
  std::vector<Tensor> wide = {tensor<double>({1, 2}, {1, 1}), tensor<double>({1, 1}, {2}), none};
  expectNear<double>(run1("MatrixSolveLs", wide), {1, 1}, 1e-12);
  std::vector<Tensor> singular = {tensor<double>({2, 2}, {0, 0, 0, 0}),
                                  tensor<double>({2, 1}, {1, 1}), none};
  EXPECT_EQ(errorClassOf("MatrixSolveLs", singular), "InvalidArgumentError");
  AttrMap slow;
  slow.set("fast", false);
  expectNear<double>(run1("MatrixSolveLs", singular, DType::Float64, slow), {0, 0});
}

// A = L^2 for a 1 x 1 matrix, so dL/dA is 1 / (2 L).
TEST(LeastSquares, CholeskyGrad) {
  expectNear<double>(
      run1("CholeskyGrad", {tensor<double>({1, 1}, {2}), tensor<double>({1, 1}, {3})}), {.75});
}

TEST(BandedMatrix, TridiagonalThereAndBack) {
  std::vector<double> above = {1, 1, 0}, main = {2, 0, 2}, below = {0, 4, 1}, x = {1, 2, 3};
  Tensor b = run1("TridiagonalMatMul", {tensor({1, 3}, above), tensor({1, 3}, main),
                                        tensor({1, 3}, below), tensor({3, 1}, x)});
  EXPECT_EQ(values<double>(b), (std::vector<double>{4, 7, 8}));
  Tensor diagonals = tensor<double>({3, 3}, {1, 1, 0, 2, 0, 2, 0, 4, 1});
  expectNear<double>(run1("TridiagonalSolve", {diagonals, b}), x, 1e-12);
  Tensor zero = tensor<double>({3, 3}, std::vector<double>(9));
  EXPECT_TRUE(std::isnan(run1("TridiagonalSolve", {zero, b}).data<double>()[0]));
}

TEST(BandedMatrix, TriangularBands) {
  // The bands of [[2, 0], [3, 4]]: the diagonal and the subdiagonal.
  Tensor bands = tensor<double>({2, 2}, {2, 4, 0, 3}), rhs = tensor<double>({2, 1}, {2, 11});
  expectNear<double>(run1("BandedTriangularSolve", {bands, rhs}), {1, 2}, 1e-12);
  AttrMap adjoint;
  adjoint.set("adjoint", true);
  expectNear<double>(run1("BandedTriangularSolve", {bands, rhs}, DType::Float64, adjoint),
                     {-3.125, 2.75}, 1e-12);
  AttrMap upper; // [[2, 3], [0, 4]]: the diagonal is the last band
  upper.set("lower", false);
  Tensor above = tensor<double>({2, 2}, {3, 0, 2, 4});
  expectNear<double>(run1("BandedTriangularSolve", {above, rhs}, DType::Float64, upper),
                     {-3.125, 2.75}, 1e-12);
  EXPECT_EQ(errorClassOf("BandedTriangularSolve", {tensor<double>({1, 2}, {0, 1}), rhs}),
            "InvalidArgumentError");
}

TEST(Eigenvalues, OfARotation) {
  auto out =
      runAll("Eig", {tensor<float>({2, 2}, {0, -1, 1, 0})}, {DType::Complex64, DType::Complex64});
  ASSERT_EQ(out.size(), 2u);
  auto found = values<Complex64>(out[0]);
  EXPECT_NEAR(std::abs(found[0] * found[1] - 1.0f), 0, 1e-6); // i and -i
  EXPECT_NEAR(std::abs(found[0] + found[1]), 0, 1e-6);
}

TEST(Eigenvalues, JoinedWithTheirVectors) {
  Tensor joined = run1("SelfAdjointEig", {tensor<double>({2, 2}, {2, 0, 0, 1})});
  EXPECT_EQ(dimsText(joined.dims()), "[3,2]");
  EXPECT_NEAR(joined.data<double>()[0], 1, 1e-12);
  EXPECT_NEAR(joined.data<double>()[1], 2, 1e-12);
}

} // namespace
} // namespace treadle
