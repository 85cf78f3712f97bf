// Tests of parts of strings, runs of strings and joined segments.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Strings = std::vector<std::string>;

TEST(SubstringsTest, Substr) {
  Tensor in = vec<std::string>({"héllo", "wörld"});
  auto part = [&](int32_t position, int32_t length, const char *unit) {
    AttrMap attrs;
    attrs.set("unit", std::string(unit));
    return values<std::string>(
        run1("Substr", {in, scalar(position), scalar(length)}, DType::String, attrs));
  };
  EXPECT_EQ(part(1, 2, "BYTE"), (Strings{"é", "ö"}));
  EXPECT_EQ(part(1, 2, "UTF8_CHAR"), (Strings{"él", "ör"}));
  EXPECT_EQ(part(-2, 9, "UTF8_CHAR"), (Strings{"lo", "ld"}));
  EXPECT_EQ(part(6, 1, "BYTE"), (Strings{"", ""}));
  EXPECT_EQ(errorClassOf("Substr", {in, scalar<int32_t>(7), scalar<int32_t>(1)}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("Substr", {in, vec<int32_t>({1}), scalar<int32_t>(1)}),
            "InvalidArgumentError");
}

TEST(SubstringsTest, NGrams) {
  AttrMap attrs;
  attrs.set("separator", std::string("|"));
  attrs.set("left_pad", std::string("L"));
  attrs.set("right_pad", std::string("R"));
  attrs.set("pad_width", int64_t{-1});
  attrs.set("ngram_widths", std::vector<int64_t>{2});
  Tensor data = vec<std::string>({"a", "b", "c"});
  std::vector<Tensor> out =
      runAll("StringNGrams", {data, vec<int64_t>({0, 2, 3})}, {DType::String, DType::Int64}, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<std::string>(out[0]), (Strings{"L|a", "a|b", "b|R", "L|c", "c|R"}));
  EXPECT_EQ(values<int64_t>(out[1]), (std::vector<int64_t>{0, 3, 5}));
  for (const std::vector<int64_t> &splits : {std::vector<int64_t>{0, 4}, {1, 3}, {0, 2, 1, 3}})
    EXPECT_EQ(errorClassOf("StringNGrams", {data, vec<int64_t>(splits)},
                           {DType::String, DType::Int64}, attrs),
              "InvalidArgumentError");
}

TEST(SubstringsTest, SegmentJoin) {
  AttrMap attrs;
  attrs.set("separator", std::string("-"));
  Tensor in = vec<std::string>({"a", "b", "c"});
  EXPECT_EQ(values<std::string>(run1("UnsortedSegmentJoin",
                                     {in, vec<int32_t>({1, 0, 1}), scalar<int32_t>(3)},
                                     DType::String, attrs)),
            (Strings{"b", "a-c", ""}));
  EXPECT_EQ(errorClassOf("UnsortedSegmentJoin", {in, vec<int32_t>({1, 0, 3}), scalar<int32_t>(3)},
                         {}, attrs),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
