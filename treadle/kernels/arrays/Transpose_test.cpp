// Transposed and reversed dimensions.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using I = int32_t;

AttrMap ints(std::initializer_list<std::pair<const char *, int64_t>> values) {
  AttrMap attrs;
  for (auto [name, value] : values)
    attrs.set(name, value);
  return attrs;
}

TEST(TransposeTest, PermutesDimensions) {
  Tensor out = run1("Transpose", {iota<I>({2, 3}, 1), vec<I>({1, 0})});
  EXPECT_EQ(dimsText(out.dims()), "[3,2]");
  EXPECT_EQ(values<I>(out), (std::vector<I>{1, 4, 2, 5, 3, 6}));
  out = run1("Transpose", {iota<int64_t>({2, 1, 3, 2}, 0), vec<int64_t>({2, 0, -1, 1})});
  EXPECT_EQ(dimsText(out.dims()), "[3,2,2,1]");
  EXPECT_EQ(values<int64_t>(out), (std::vector<int64_t>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
}

TEST(TransposeTest, SharesElementsThatStayInOrder) {
  Tensor in = iota<I>({2, 1, 3}, 1);
  Tensor out = run1("Transpose", {in, vec<I>({1, 0, 2})});
  EXPECT_EQ(dimsText(out.dims()), "[1,2,3]");
  EXPECT_TRUE(out.sharesElementsWith(in));
}

TEST(TransposeTest, Strings) {
  Tensor in = tensor<std::string>({1, 2, 2}, {"a", "b", "c", "d"});
  EXPECT_EQ(values<std::string>(run1("Transpose", {in, vec<I>({2, 1, 0})})),
            (std::vector<std::string>{"a", "c", "b", "d"}));
}

TEST(TransposeTest, ConjugatesWithoutTouchingTheInput) {
  Tensor in = tensor<Complex64>({1, 2}, {{1, 2}, {3, -4}});
  Tensor out = run1("ConjugateTranspose", {in, vec<I>({1, 0})});
  EXPECT_EQ(values<Complex64>(out), (std::vector<Complex64>{{1, -2}, {3, 4}}));
  EXPECT_EQ(in.data<Complex64>()[0], Complex64(1, 2));
}

TEST(TransposeTest, Errors) {
  Tensor in = iota<I>({2, 3}, 1);
  for (const Tensor &perm : {vec<I>({0}), vec<I>({0, 0}), vec<I>({0, 2}), scalar<I>(0)})
    EXPECT_EQ(errorClassOf("Transpose", {in, perm}), "InvalidArgumentError");
}

TEST(TransposeTest, InvertsPermutations) {
  EXPECT_EQ(values<I>(run1("InvertPermutation", {vec<I>({3, 4, 0, 2, 1})})),
            (std::vector<I>{2, 4, 3, 0, 1}));
  for (const Tensor &bad : {vec<I>({0, 2}), vec<I>({0, 0}), vec<I>({-1, 0}), scalar<I>(0)})
    EXPECT_EQ(errorClassOf("InvertPermutation", {bad}), "InvalidArgumentError");
}

TEST(ReverseTest, Dimensions) {
  Tensor in = iota<I>({2, 3}, 1);
  EXPECT_EQ(values<I>(run1("ReverseV2", {in, vec<I>({-1})})), (std::vector<I>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(values<I>(run1("ReverseV2", {in, vec<I>({0, 1})})), (std::vector<I>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(values<I>(run1("Reverse", {in, vec<bool>({true, false})})),
            (std::vector<I>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(errorClassOf("ReverseV2", {in, vec<I>({2})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("ReverseV2", {in, vec<I>({1, -1})}), "InvalidArgumentError");
}

TEST(ReverseTest, Sequences) {
  AttrMap attrs = ints({{"seq_dim", 1}, {"batch_dim", 0}});
  Tensor in = iota<I>({3, 3}, 1);
  EXPECT_EQ(values<I>(run1("ReverseSequence", {in, vec<I>({0, 2, 3})}, DType::Int32, attrs)),
            (std::vector<I>{1, 2, 3, 5, 4, 6, 9, 8, 7}));
  attrs = ints({{"seq_dim", 0}, {"batch_dim", 1}});
  EXPECT_EQ(values<I>(run1("ReverseSequence", {in, vec<I>({0, 2, 3})}, DType::Int32, attrs)),
            (std::vector<I>{1, 5, 9, 4, 2, 6, 7, 8, 3}));
  for (const Tensor &bad : {vec<I>({0, 2}), vec<I>({0, 2, 4}), vec<I>({0, 2, -1})})
    EXPECT_EQ(errorClassOf("ReverseSequence", {in, bad}, {}, attrs), "InvalidArgumentError");
}

TEST(ReverseTest, Roll) {
  Tensor in = iota<I>({2, 3}, 1);
  EXPECT_EQ(values<I>(run1("Roll", {in, scalar<I>(1), scalar<I>(1)})),
            (std::vector<I>{3, 1, 2, 6, 4, 5}));
  EXPECT_EQ(values<I>(run1("Roll", {in, vec<I>({1, -1, -3}), vec<I>({0, 1, -1})})),
            (std::vector<I>{5, 6, 4, 2, 3, 1}));
  EXPECT_EQ(errorClassOf("Roll", {in, scalar<I>(1), scalar<I>(2)}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Roll", {in, vec<I>({1, 1}), scalar<I>(0)}), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
