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

// Floats are multiplied where they lie, doubles after they were brought into order.
TEST(Einsum, FloatsGiveWhatDoublesGive) {
  auto sizeOf = [](char label) { return 3 + (label * 7) % 11; };
  auto operand = [&]<typename T>(T, std::string_view labels) {
    std::vector<int64_t> dims;
    for (char label : labels)
      dims.push_back(sizeOf(label));
    Tensor t = *Tensor::make(dtypeOf<T>, dims);
    for (int64_t i = 0; i < t.count(); ++i)
      t.data<T>()[i] = static_cast<T>((i * 13) % 7 - 3);
    return t;
  };
  const std::pair<const char *, const char *> operands[] = {
      {"abc", "cde"}, {"aecd", "abcd"}, {"acbe", "aecd"}, {"abcd", "cde"}, {"ij", "kj"},
      {"bij", "bjk"}, {"abc", "bcd"},   {"xyz", "zw"},    {"aab", "bc"}};
  const char *results[] = {"abde", "acbe", "abcd", "abe", "ik", "bik", "ad", "wxy", "ca"};
  for (size_t i = 0; i < std::size(operands); ++i) {
    auto [left, right] = operands[i];
    for (bool isSwapped : {false, true}) {
      std::string_view l = isSwapped ? right : left, r = isSwapped ? left : right;
      std::string equation = str(l, ",", r, "->", results[i]);
      Tensor got = einsum(equation, {operand(0.0F, l), operand(0.0F, r)});
      Tensor want = einsum(equation, {operand(0.0, l), operand(0.0, r)});
      ASSERT_EQ(dimsText(got.dims()), dimsText(want.dims()));
      Doubles wanted = values<double>(want);
      EXPECT_EQ(values<float>(got), std::vector<float>(wanted.begin(), wanted.end())) << equation;
    }
  }
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
