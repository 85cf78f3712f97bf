#include "treadle/kernels/linear_algebra/LinearAlgebra.h"
#include "treadle/testing/KernelTest.h"

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
  Tensor lower = tensor<double>({2, 2}, {2, 99, 1, 4}); // elements above the diagonal are ignored
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

// --- matrices large enough for LAPACK, if it is installed ----------------------------------------

template <typename T> class LargeMatrix : public testing::Test {
public:
  using Real = typename Eigen::NumTraits<T>::Real;
  static constexpr double tolerance = sizeof(Real) == 4 ? 2e-3 : 1e-10;

  /// Returns two matrices of pseudo-random numbers.
  static Tensor noise(int64_t rows, int64_t columns) {
    Tensor t = *Tensor::make(dtypeOf<T>, {2, rows, columns});
    uint32_t state = 7;
    auto next = [&] {
      state = state * 1664525 + 1013904223;
      return static_cast<Real>(state >> 8) / Real(1 << 23) - 1;
    };
    for (int64_t i = 0; i < t.count(); ++i) {
      if constexpr (Eigen::NumTraits<T>::IsComplex)
        t.data<T>()[i] = T(next(), next());
      else
        t.data<T>()[i] = next();
    }
    return t;
  }

  static MatrixMap<T> at(const Tensor &t, int64_t i) {
    int64_t rows = t.dim(1), columns = t.dim(2);
    return {const_cast<T *>(t.data<T>()) + i * rows * columns, rows, columns};
  }
};

using AllMatrixTypes = testing::Types<float, double, Complex64, Complex128>;
TYPED_TEST_SUITE(LargeMatrix, AllMatrixTypes);

TYPED_TEST(LargeMatrix, SelfAdjointEigenvaluesAndVectors) {
  using T = TypeParam;
  Tensor in = this->noise(130, 130);
  for (int64_t i : {0, 1}) {
    MatrixOf<T> sum = this->at(in, i) + this->at(in, i).adjoint();
    this->at(in, i) = sum;
  }
  auto found = runAll("SelfAdjointEigV2", {in}, {dtypeOf<T>, dtypeOf<T>}, with("compute_v", true));
  auto values =
      runAll("SelfAdjointEigV2", {in}, {dtypeOf<T>, dtypeOf<T>}, with("compute_v", false));
  ASSERT_EQ(found.size(), 2u);
  ASSERT_EQ(values.size(), 2u);
  for (int64_t i : {0, 1}) {
    MatrixMap<T> v = this->at(found[1], i);
    Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> w(found[0].template data<T>() + i * 130, 130);
    EXPECT_LT((v * w.asDiagonal() * v.adjoint() - this->at(in, i)).norm(), this->tolerance * 20);
    for (int64_t k = 0; k < 130; ++k) {
      EXPECT_NEAR(std::abs(w(k) - values[0].template data<T>()[i * 130 + k]), 0, this->tolerance);
      EXPECT_GE(std::real(w(k)), std::real(w(std::max<int64_t>(k - 1, 0))));
    }
  }
}

TYPED_TEST(LargeMatrix, SingularValuesAndVectors) {
  using T = TypeParam;
  for (auto [rows, columns] : {std::pair{120, 120}, {150, 110}, {110, 150}})
    for (bool isFull : {false, true}) {
      SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
      Tensor in = this->noise(rows, columns);
      AttrMap attrs = with("full_matrices", isFull);
      attrs.set("compute_uv", true);
      auto found = runAll("Svd", {in}, {dtypeOf<T>, dtypeOf<T>, dtypeOf<T>}, attrs);
      auto values =
          runAll("Svd", {in}, {dtypeOf<T>, dtypeOf<T>, dtypeOf<T>}, with("compute_uv", false));
      ASSERT_EQ(found.size(), 3u);
      ASSERT_EQ(values.size(), 3u);
      int64_t least = std::min(rows, columns);
      EXPECT_EQ(found[1].dim(2), isFull ? rows : least);
      EXPECT_EQ(found[2].dim(2), isFull ? columns : least);
      for (int64_t i : {0, 1}) {
        MatrixMap<T> u = this->at(found[1], i), v = this->at(found[2], i);
        Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>> s(found[0].template data<T>() + i * least,
                                                          least);
        MatrixOf<T> back = u.leftCols(least) * s.asDiagonal() * v.leftCols(least).adjoint();
        EXPECT_LT((back - this->at(in, i)).norm(), this->tolerance);
        MatrixOf<T> unit = u.adjoint() * u;
        EXPECT_LT((unit - MatrixOf<T>::Identity(u.cols(), u.cols())).norm(), this->tolerance);
        for (int64_t k = 0; k < least; ++k)
          EXPECT_NEAR(std::abs(s(k) - values[0].template data<T>()[i * least + k]), 0,
                      this->tolerance);
      }
    }
}

TYPED_TEST(LargeMatrix, EigenvaluesAndVectors) {
  using T = TypeParam;
  using C = std::complex<typename TestFixture::Real>;
  Tensor in = this->noise(140, 140);
  auto found = runAll("Eig", {in}, {dtypeOf<C>, dtypeOf<C>}, with("compute_v", true));
  auto values = runAll("Eig", {in}, {dtypeOf<C>, dtypeOf<C>}, with("compute_v", false));
  ASSERT_EQ(found.size(), 2u);
  ASSERT_EQ(values.size(), 2u);
  for (int64_t i : {0, 1}) {
    MatrixMap<C> v(found[1].template data<C>() + i * 140 * 140, 140, 140);
    Eigen::Map<Eigen::Matrix<C, Eigen::Dynamic, 1>> w(found[0].template data<C>() + i * 140, 140);
    MatrixOf<C> matrix = this->at(in, i).template cast<C>();
    EXPECT_LT((matrix * v - v * w.asDiagonal()).norm(), this->tolerance);
    C sum = 0;
    for (int64_t k = 0; k < 140; ++k) {
      EXPECT_NEAR(v.col(k).norm(), 1, 1e-4);
      sum += values[0].template data<C>()[i * 140 + k];
    }
    EXPECT_NEAR(std::abs(sum - matrix.trace()), 0, this->tolerance);
  }
}

TYPED_TEST(LargeMatrix, CholeskyFactors) {
  using T = TypeParam;
  Tensor in = this->noise(90, 90);
  for (int64_t i : {0, 1}) {
    MatrixOf<T> gram = this->at(in, i) * this->at(in, i).adjoint();
    gram.diagonal().array() += T(90);
    this->at(in, i) = gram;
  }
  Tensor factors = run1("Cholesky", {in});
  for (int64_t i : {0, 1}) {
    MatrixMap<T> factor = this->at(factors, i);
    EXPECT_LT((factor * factor.adjoint() - this->at(in, i)).norm(), this->tolerance * 10);
    EXPECT_EQ(std::abs(factor(3, 70)), 0);
  }
  this->at(in, 1)(80, 80) = T(-1);
  EXPECT_EQ(errorOf("Cholesky", {in}), "InvalidArgumentError: the Cholesky decomposition failed: "
                                       "matrix 1 is not positive definite");
}

TYPED_TEST(LargeMatrix, NanIsNanOrAnError) {
  using T = TypeParam;
  using C = std::complex<typename TestFixture::Real>;
  Tensor in = this->noise(140, 140);
  this->at(in, 1)(5, 3) = T(std::numeric_limits<double>::quiet_NaN());
  auto svd = runAll("Svd", {in}, {dtypeOf<T>, dtypeOf<T>, dtypeOf<T>}, with("compute_uv", true));
  ASSERT_EQ(svd.size(), 3u);
  EXPECT_FALSE(std::isnan(std::abs(svd[0].template data<T>()[139])));
  EXPECT_TRUE(std::isnan(std::abs(svd[0].template data<T>()[140])));
  EXPECT_EQ(errorOf("SelfAdjointEigV2", {in}, {dtypeOf<T>, dtypeOf<T>}),
            "InvalidArgumentError: the eigenvalue algorithm did not converge for matrix 1; are all "
            "its elements finite?");
  EXPECT_EQ(errorClassOf("Eig", {in}, {dtypeOf<C>, dtypeOf<C>}), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
