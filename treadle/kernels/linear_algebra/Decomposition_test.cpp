#include "treadle/kernels/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

using Floats = std::vector<float>;

const Tensor positive = tensor<double>({1, 2, 2}, {4, 2, 2, 10});
const Tensor singular = tensor<double>({2, 2}, {1, 2, 2, 4});

AttrMap with(std::string_view name, bool value) {
  AttrMap attrs;
  attrs.set(name, value);
  return attrs;
}

Tensor product(const Tensor &a, const Tensor &b) { return run1("BatchMatMulV2", {a, b}); }

TEST(LinearAlgebra, Lu) {
  Tensor matrix = tensor<float>({2, 2}, {1, 2, 4, 10});
  std::vector<Tensor> out = runAll("Lu", {matrix}, {DType::Float32, DType::Int32});
  EXPECT_EQ(values<float>(out[0]), (std::vector<float>{4, 10, 0.25, -0.5}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{1, 0}));
  EXPECT_EQ(
      errorClassOf("Lu", {tensor<float>({2, 2}, {1, 2, 2, 4})}, {DType::Float32, DType::Int32}),
      "InvalidArgumentError");
}

TEST(LinearAlgebra, CholeskyFactorIsLower) {
  expectNear<double>(run1("Cholesky", {positive}), {2, 0, 1, 3}, 1e-12);
  EXPECT_EQ(errorClassOf("Cholesky", {tensor<double>({1, 1}, {-1})}), "InvalidArgumentError");
}

TEST(LinearAlgebra, InverseAndSolution) {
  expectNear<double>(product(positive, run1("MatrixInverse", {positive})), {1, 0, 0, 1}, 1e-12);
  Tensor rhs = tensor<double>({1, 2, 1}, {8, 14});
  expectNear<double>(run1("MatrixSolve", {positive, rhs}), {13.0 / 9, 10.0 / 9}, 1e-12);
  EXPECT_EQ(errorClassOf("MatrixInverse", {singular}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("MatrixSolve", {singular, singular}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("MatrixInverse", {tensor<double>({1, 2}, {1, 2})}),
            "InvalidArgumentError");
}

TEST(LinearAlgebra, Determinants) {
  expectNear<double>(run1("MatrixDeterminant", {positive}), {36}, 1e-12);
  auto out = runAll("LogMatrixDeterminant", {tensor<double>({2, 2}, {0, 2, 3, 0})},
                    {DType::Float64, DType::Float64});
  ASSERT_EQ(out.size(), 2u);
  expectNear<double>(out[0], {-1});
  expectNear<double>(out[1], {std::log(6)}, 1e-12);
  expectNear<double>(run1("MatrixDeterminant", {tensor<double>({0, 0}, {})}), {1});
}

TEST(LinearAlgebra, TrianglesAreBroadcast) {
  Tensor lower = tensor<double>({2, 2}, {2, 99, 1, 4}); // what is above the diagonal doesn't count
  Tensor rhs = tensor<double>({2, 2, 1}, {2, 9, 4, 2});
  expectNear<double>(
      run1("MatrixTriangularSolve", {lower, rhs}, DType::Float64, with("lower", true)),
      {1, 2, 2, 0}, 1e-12);
  EXPECT_EQ(errorClassOf("MatrixTriangularSolve",
                         {tensor<double>({1, 1}, {0}), tensor<double>({1, 1}, {1})}),
            "InvalidArgumentError");
}

TEST(Decomposition, QrGivesTheMatrixBack) {
  Tensor m = tensor<double>({3, 2}, {1, 2, 3, 4, 5, 7});
  for (bool isFull : {false, true}) {
    auto out = runAll("Qr", {m}, {DType::Float64, DType::Float64}, with("full_matrices", isFull));
    ASSERT_EQ(out.size(), 2u);
    EXPECT_EQ(out[0].dim(1), isFull ? 3 : 2);
    expectNear<double>(run1("MatMul", {out[0], out[1]}), {1, 2, 3, 4, 5, 7}, 1e-12);
    EXPECT_EQ(out[1].data<double>()[2], 0);
  }
}

TEST(Decomposition, SingularValuesAndEigenvalues) {
  Tensor m = tensor<double>({2, 2}, {0, 2, -3, 0});
  auto svd = runAll("Svd", {m}, {DType::Float64, DType::Float64, DType::Float64},
                    with("compute_uv", true));
  ASSERT_EQ(svd.size(), 3u);
  expectNear<double>(svd[0], {3, 2}, 1e-12);
  auto eigen = runAll("SelfAdjointEigV2", {tensor<double>({2, 2}, {2, 1, 1, 2})},
                      {DType::Float64, DType::Float64}, with("compute_v", true));
  ASSERT_EQ(eigen.size(), 2u);
  expectNear<double>(eigen[0], {1, 3}, 1e-12);
}

TEST(Decomposition, NanEnds) {
  Tensor m = tensor<float>({1, 1}, {std::numeric_limits<float>::quiet_NaN()});
  auto svd = runAll("Svd", {m}, {DType::Float32, DType::Float32, DType::Float32},
                    with("compute_uv", false));
  ASSERT_EQ(svd.size(), 3u);
  EXPECT_TRUE(std::isnan(values<float>(svd[0]).at(0)));
}

} // namespace
} // namespace treadle
