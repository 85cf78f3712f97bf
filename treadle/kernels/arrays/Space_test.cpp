// Space to batch and depth, data formats, searches, and numbers as strings.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using I = int32_t;
using L = int64_t;
using Values = std::vector<I>;

TEST(SpaceTest, Batches) {
  Tensor in = iota<I>({1, 3, 2}, 0), block = vec<I>({2});
  Tensor out = run1("SpaceToBatchND", {in, block, tensor<I>({1, 2}, {1, 0})});
  EXPECT_EQ(dimsText(out.dims()), "[2,2,2]");
  EXPECT_EQ(values<I>(out), (Values{0, 0, 2, 3, 0, 1, 4, 5}));
  EXPECT_EQ(values<I>(run1("BatchToSpaceND", {out, block, tensor<I>({1, 2}, {1, 0})})),
            values<I>(in));
  Tensor image = iota<I>({2, 4, 2, 3}, 0), both = vec<I>({2, 2});
  Tensor none = tensor<I>({2, 2}, {0, 0, 0, 0});
  Tensor there = run1("SpaceToBatchND", {image, both, none});
  EXPECT_EQ(dimsText(there.dims()), "[8,2,1,3]");
  EXPECT_EQ(there.data<I>()[2 * 6], 3); // block (0, 1): the second column of the first image
  EXPECT_EQ(values<I>(run1("BatchToSpaceND", {there, both, none})), values<I>(image));
}

TEST(SpaceTest, BatchErrors) {
  Tensor in = iota<I>({1, 3, 2}, 0), none = tensor<I>({1, 2}, {0, 0});
  EXPECT_EQ(errorClassOf("SpaceToBatchND", {in, vec<I>({2}), none}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("SpaceToBatchND", {in, vec<I>({0}), none}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("BatchToSpaceND", {in, vec<I>({2}), none}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("BatchToSpaceND", {in, vec<I>({1}), tensor<I>({1, 2}, {2, 2})}),
            "InvalidArgumentError");
}

TEST(SpaceTest, Depth) {
  AttrMap attrs;
  attrs.set("block_size", L{2});
  Tensor in = iota<I>({1, 2, 4, 1}, 0);
  Tensor out = run1("SpaceToDepth", {in}, DType::Int32, attrs);
  EXPECT_EQ(values<I>(out), (Values{0, 1, 4, 5, 2, 3, 6, 7}));
  EXPECT_EQ(dimsText(out.dims()), "[1,1,2,4]");
  EXPECT_EQ(values<I>(run1("DepthToSpace", {out}, DType::Int32, attrs)), values<I>(in));
  EXPECT_EQ(errorClassOf("DepthToSpace", {in}, {}, attrs), "InvalidArgumentError");
}

TEST(SpaceTest, Formats) {
  EXPECT_EQ(values<I>(run1("DataFormatDimMap", {vec<I>({-4, -1, 0, 1, 2, 3})})),
            (Values{0, 1, 0, 2, 3, 1}));
  EXPECT_EQ(values<I>(run1("DataFormatVecPermute", {vec<I>({1, 2, 3, 4})})), (Values{1, 4, 2, 3}));
  AttrMap attrs;
  attrs.set("src_format", std::string("NHWC"));
  attrs.set("dst_format", std::string("NWHC"));
  EXPECT_EQ(values<I>(run1("DataFormatVecPermute", {vec<I>({1, 2})}, DType::Int32, attrs)),
            (Values{2, 1}));
  EXPECT_EQ(errorClassOf("DataFormatVecPermute", {vec<I>({1, 2, 3})}), "InvalidArgumentError");
}

TEST(SearchTest, Where) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(values<L>(run1("Where", {tensor<float>({2, 2}, {-0.f, 1, nan, 0})}, DType::Int64)),
            (std::vector<L>{0, 1, 1, 0}));
  Tensor none = run1("Where", {vec<bool>({false})}, DType::Int64);
  EXPECT_EQ(dimsText(none.dims()), "[0,1]");
}

TEST(SearchTest, ToBool) {
  auto toBool = [](Tensor in) -> bool {
    return values<bool>(run1("ToBool", {in}, DType::Bool))[0];
  };
  EXPECT_TRUE(toBool(scalar<I>(-1)));
  EXPECT_FALSE(toBool(scalar<float>(0)));
  EXPECT_FALSE(toBool(scalar<std::string>("")));
  EXPECT_TRUE(toBool(vec<I>({0})));
  EXPECT_FALSE(toBool(vec<I>({})));
}

TEST(SearchTest, Bounds) {
  Tensor sorted = tensor<I>({1, 4}, {1, 3, 3, 5}), asked = tensor<I>({1, 3}, {3, 6, 0});
  EXPECT_EQ(values<I>(run1("LowerBound", {sorted, asked})), (Values{1, 4, 0}));
  EXPECT_EQ(values<L>(run1("UpperBound", {sorted, asked}, DType::Int64)),
            (std::vector<L>{3, 4, 0}));
  EXPECT_EQ(errorClassOf("LowerBound", {sorted, tensor<I>({2, 1}, {1, 2})}),
            "InvalidArgumentError");
}

TEST(SearchTest, AccidentalHits) {
  AttrMap attrs;
  attrs.set("num_true", L{2});
  auto out =
      runAll("ComputeAccidentalHits", {tensor<L>({2, 2}, {1, 2, 3, 2}), vec<L>({2, 1, 7, 2})},
             {DType::Int32, DType::Int64, DType::Float32}, attrs);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<I>(out[0]), (Values{0, 0, 1}));
  EXPECT_EQ(values<L>(out[1]), (std::vector<L>{1, 3, 3}));
}

TEST(AsStringTest, Formats) {
  auto text = [](Tensor in, const AttrMap &attrs) {
    return values<std::string>(run1("AsString", {in}, DType::String, attrs))[0];
  };
  AttrMap none, precise, wide;
  precise.set("precision", L{2});
  precise.set("scientific", true);
  wide.set("width", L{5});
  wide.set("fill", std::string("0"));
  EXPECT_EQ(text(scalar<float>(1.5), none), "1.500000");
  EXPECT_EQ(text(scalar<double>(1.5), precise), "1.50e+00");
  EXPECT_EQ(text(scalar<I>(-2), wide), "-0002");
  EXPECT_EQ(text(scalar<uint8_t>(255), none), "255");
  EXPECT_EQ(text(scalar<bool>(true), wide), "true");
  EXPECT_EQ(text(scalar<Complex64>({1, 2}), none), "(1.000000,2.000000)");
  EXPECT_EQ(errorClassOf("AsString", {scalar<I>(1)}, {DType::String}, precise),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
