// Tests of compressed sparse matrices. Products and factors are TensorFlow's.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

AttrMap ofType(DType dtype, std::initializer_list<std::string_view> flags = {}) {
  AttrMap attrs;
  attrs.set("type", TypeAttr{dtype});
  attrs.set("T", TypeAttr{dtype});
  for (std::string_view flag : flags)
    attrs.set(flag, true);
  return attrs;
}
const AttrMap floats = ofType(DType::Float32);

// [[1, 0, 2], [0, 0, 3]]
Tensor sample() {
  return run1(
      "SparseTensorToCSRSparseMatrix",
      {tensor<int64_t>({3, 2}, {0, 0, 0, 2, 1, 2}), vec<float>({1, 2, 3}), vec<int64_t>({2, 3})},
      DType::Variant, floats);
}
Tensor dense(const Tensor &matrix) {
  return run1("CSRSparseMatrixToDense", {matrix}, DType::Float32, floats);
}

TEST(CsrMatrixTest, RoundTripsEntries) {
  Tensor matrix = sample();
  EXPECT_EQ(values<float>(dense(matrix)), (Floats{1, 0, 2, 0, 0, 3}));
  EXPECT_EQ(run1("SparseMatrixNNZ", {matrix}, DType::Int32).scalarValue<int32_t>(), 3);
  auto parts = runAll("CSRSparseMatrixComponents", {matrix, scalar<int32_t>(0)},
                      {DType::Int32, DType::Int32, DType::Float32}, floats);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(values<int32_t>(parts[0]), (Ints{0, 2, 3}));
  EXPECT_EQ(values<int32_t>(parts[1]), (Ints{0, 2, 2}));
  EXPECT_EQ(values<float>(parts[2]), (Floats{1, 2, 3}));
  Tensor turned = run1("SparseMatrixTranspose", {matrix}, DType::Variant, floats);
  EXPECT_EQ(values<float>(dense(turned)), (Floats{1, 0, 0, 0, 2, 3}));
}

TEST(CsrMatrixTest, RejectsInvalidInputs) {
  auto from = [](std::vector<int64_t> indices) {
    return errorClassOf(
        "SparseTensorToCSRSparseMatrix",
        {tensor<int64_t>({2, 2}, indices), vec<float>({1, 2}), vec<int64_t>({2, 3})},
        {DType::Variant}, floats);
  };
  EXPECT_EQ(from({0, 0, 1, 1}), "");
  EXPECT_EQ(from({0, 0, 2, 0}), "InvalidArgumentError"); // no such row
  EXPECT_EQ(from({1, 0, 0, 0}), "InvalidArgumentError"); // out of order
  EXPECT_EQ(
      errorClassOf("CSRSparseMatrixToDense", {sample()}, {DType::Float64}, ofType(DType::Float64)),
      "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("SparseMatrixOrderingAMD", {sample()}, {DType::Int32}),
            "InvalidArgumentError"); // not square
}

TEST(CsrMatrixTest, Products) {
  Tensor matrix = sample(), columns = tensor<float>({3, 1}, {1, 10, 100});
  EXPECT_EQ(values<float>(run1("SparseMatrixMatMul", {matrix, columns}, DType::Float32)),
            (Floats{201, 300}));
  Tensor square = run1("SparseMatrixSparseMatMul", {matrix, matrix}, DType::Variant,
                       ofType(DType::Float32, {"transpose_b"}));
  EXPECT_EQ(values<float>(dense(square)), (Floats{5, 6, 6, 9}));
  EXPECT_EQ(
      errorClassOf("SparseMatrixMatMul", {matrix, tensor<float>({2, 1}, {1, 2})}, {DType::Float32}),
      "InvalidArgumentError");
}

TEST(CsrMatrixTest, Cholesky) {
  auto factor = [](float corner) {
    Tensor matrix = run1("DenseToCSRSparseMatrix",
                         {tensor<float>({2, 2}, {4, 2, 2, corner}),
                          tensor<int64_t>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})},
                         DType::Variant);
    return std::vector<Tensor>{matrix, vec<int32_t>({0, 1})};
  };
  Tensor root = run1("SparseMatrixSparseCholesky", factor(10), DType::Variant, floats);
  EXPECT_EQ(values<float>(dense(root)), (Floats{2, 0, 1, 3}));
  EXPECT_EQ(errorClassOf("SparseMatrixSparseCholesky", factor(0), {DType::Variant}, floats),
            "InvalidArgumentError");
}

TEST(CsrMatrixTest, Entries) {
  Tensor matrix = sample();
  Tensor sum = run1("SparseMatrixAdd", {matrix, matrix, scalar<float>(1), scalar<float>(-3)},
                    DType::Variant, floats);
  EXPECT_EQ(values<float>(dense(sum)), (Floats{-2, 0, -4, 0, 0, -6}));
  Tensor scaled = run1("SparseMatrixMul", {matrix, scalar<float>(2)}, DType::Variant, floats);
  EXPECT_EQ(values<float>(dense(scaled)), (Floats{2, 0, 4, 0, 0, 6}));
  Tensor softmax = run1("SparseMatrixSoftmax", {matrix}, DType::Variant, floats);
  expectNear<float>(dense(softmax), {0.26894142, 0, 0.73105858, 0, 0, 1});
  Tensor grad = run1("SparseMatrixSoftmaxGrad", {softmax, matrix}, DType::Variant, floats);
  expectNear<float>(dense(grad), {-0.19661193, 0, 0.19661193, 0, 0, 0});
  Tensor zeros = run1("SparseMatrixZeros", {vec<int64_t>({1, 2})}, DType::Variant, floats);
  EXPECT_EQ(values<float>(dense(zeros)), (Floats{0, 0}));
}

} // namespace
} // namespace treadle
