#include "treadle/testing/KernelTest.h"

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
  // A label that occurs only in one operand and not in the result is summed.
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

// Floats are multiplied in place, doubles after reordering: both must give the same results. `l`
// and `r` are the labels of the operands.
void expectFloatsAsDoubles(std::string_view l, std::string_view r, const char *result,
                           int64_t (*sizeOf)(char)) {
  auto operand = [&]<typename T>(T, std::string_view labels) {
    std::vector<int64_t> dims;
    for (char label : labels)
      dims.push_back(sizeOf(label));
    Tensor t = *Tensor::make(dtypeOf<T>, dims);
    for (int64_t i = 0; i < t.count(); ++i)
      t.data<T>()[i] = static_cast<T>((i * 13) % 7 - 3);
    return t;
  };
  for (bool isSwapped : {false, true}) {
    std::string equation = str(isSwapped ? r : l, ",", isSwapped ? l : r, "->", result);
    std::string_view first = isSwapped ? r : l, second = isSwapped ? l : r;
    Tensor got = einsum(equation, {operand(0.0F, first), operand(0.0F, second)});
    Tensor want = einsum(equation, {operand(0.0, first), operand(0.0, second)});
    ASSERT_EQ(dimsText(got.dims()), dimsText(want.dims()));
    Doubles wanted = values<double>(want);
    EXPECT_EQ(values<float>(got), std::vector<float>(wanted.begin(), wanted.end())) << equation;
  }
}

TEST(Einsum, FloatsGiveWhatDoublesGive) {
  struct Row {
    const char *left, *right, *result;
  };
  const Row rows[] = {{"abc", "cde", "abde"}, {"aecd", "abcd", "acbe"}, {"acbe", "aecd", "abcd"},
                      {"abcd", "cde", "abe"}, {"ij", "kj", "ik"},       {"bij", "bjk", "bik"},
                      {"abc", "bcd", "ad"},   {"xyz", "zw", "wxy"},     {"aab", "bc", "ca"},
                      {"dba", "do", "abo"}};
  for (const Row &row : rows)
    expectFloatsAsDoubles(row.left, row.right, row.result,
                          [](char label) -> int64_t { return 3 + (label * 7) % 11; });
}

TEST(Einsum, FloatsTimesVectorsGiveWhatDoublesGive) {
  struct Row {
    const char *left, *right, *result;
  };
  const Row rows[] = {{"bh", "bth", "bt"},        {"bt", "bth", "bh"},  {"h", "th", "t"},
                      {"bh", "bh", "b"},          {"bh", "bht", "tb"},  {"bch", "thbc", "tbc"},
                      {"oh", "htu", "otu"},       {"oh", "hut", "otu"}, {"ohk", "hkt", "ot"},
                      {"okh", "hkt", "ot"},       {"oh", "bth", "bto"}, {"bh", "bhth", "bt"},
                      {"boqhd", "bkhd", "bhoqk"}, {"h", "h", ""},       {"bt", "b", "bt"},
                      {"t", "tt", "t"},           {"bhq", "bth", "btq"}};
  for (const Row &row : rows)
    expectFloatsAsDoubles(row.left, row.right, row.result, [](char label) -> int64_t {
      return label == 'o' || label == 'q' ? 1 : 2 + label % 9;
    });
  EXPECT_EQ(values<float>(einsum("i,j->ij", {vec<float>({2}), vec<float>({3, 4})})),
            (std::vector<float>{6, 8}));
  EXPECT_EQ(values<float>(einsum("ij->i", {iota<float>({2, 3}, 0)})), (std::vector<float>{3, 12}));
  EXPECT_EQ(values<float>(einsum("ij->j", {iota<float>({2, 3}, 0)})),
            (std::vector<float>{3, 5, 7}));
  EXPECT_EQ(values<float>(einsum("i->ii", {vec<float>({1, 2})})), (std::vector<float>{1, 0, 0, 2}));
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
