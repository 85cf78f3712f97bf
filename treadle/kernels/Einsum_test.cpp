#include "treadle/kernels/KernelTest.h"

namespace treadle {
namespace {

using Doubles = std::vector<double>;

const Tensor a = iota<double>({2, 3}, 0);

Tensor einsum(std::string equation, std::vector<Tensor> inputs) {
  AttrMap attrs;
  attrs.set("equation", std::move(equation));
  return run1("Einsum", std::move(inputs), DType::Invalid, attrs);
}

std::string errorOfEinsum(std::string equation, std::vector<Tensor> inputs) {
  AttrMap attrs;
  attrs.set("equation", std::move(equation));
  return errorClassOf("Einsum", std::move(inputs), {}, attrs);
}

TEST(Einsum, OneOperand) {
  EXPECT_EQ(values<double>(einsum("ij->ji", {a})), (Doubles{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values<double>(einsum("ij->i", {a})), (Doubles{3, 12}));
  EXPECT_EQ(values<double>(einsum("ij->", {a})), (Doubles{15}));
  EXPECT_EQ(values<double>(einsum("...j->j...", {a})), (Doubles{0, 3, 1, 4, 2, 5}));
}

TEST(Einsum, DiagonalsInAndOut) {
  Tensor square = iota<double>({2, 2}, 1);
  EXPECT_EQ(values<double>(einsum("ii->i", {square})), (Doubles{1, 4}));
  EXPECT_EQ(values<double>(einsum("ii->", {square})), (Doubles{5}));
  EXPECT_EQ(values<double>(einsum("i->ii", {vec<double>({1, 2})})), (Doubles{1, 0, 0, 2}));
}

TEST(Einsum, TwoOperands) {
  EXPECT_EQ(values<double>(einsum("ij,kj->ik", {a, a})), (Doubles{5, 14, 14, 50}));
  EXPECT_EQ(values<double>(einsum("ij,ij->j", {a, a})), (Doubles{9, 17, 29}));
  EXPECT_EQ(values<double>(einsum("i,j->ji", {vec<double>({1, 2}), vec<double>({3, 4})})),
            (Doubles{3, 6, 4, 8}));
  // A label that only one operand has, and the result hasn't, is summed.
  EXPECT_EQ(values<double>(einsum("ij,k->k", {a, vec<double>({1, 2})})), (Doubles{15, 30}));
}

TEST(Einsum, EllipsesBroadcast) {
  Tensor batched = iota<double>({2, 1, 2}, 0), one = vec<double>({1, 10});
  EXPECT_EQ(values<double>(einsum("...ij,...j->...i", {batched, one})), (Doubles{10, 32}));
  EXPECT_EQ(
      dimsText(
          einsum("...i,...j->...ij", {iota<double>({3, 1, 2}, 0), iota<double>({4, 5}, 0)}).dims()),
      "[3,4,2,5]");
}

TEST(Einsum, NothingSummedIsZero) {
  EXPECT_EQ(values<double>(einsum("ij->i", {tensor<double>({2, 0}, {})})), (Doubles{0, 0}));
}

TEST(Einsum, WrongEquations) {
  EXPECT_EQ(errorOfEinsum("ij", {a}), "InvalidArgumentError");
  EXPECT_EQ(errorOfEinsum("ij,jk->ik", {a, a}), "InvalidArgumentError");
  EXPECT_EQ(errorOfEinsum("ijk->i", {a}), "InvalidArgumentError");
  EXPECT_EQ(errorOfEinsum("...j->j", {a}), "InvalidArgumentError");
  EXPECT_EQ(errorOfEinsum("i1->i", {a}), "InvalidArgumentError");
  EXPECT_EQ(errorOfEinsum("i,j,k->", {a, a, a}), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
