// Dynamic partition and stitch, unique elements, and sets.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using I = int32_t;
using L = int64_t;
const std::vector<DType> twoInt32 = {DType::Int32, DType::Int32};

AttrMap setOperation(const char *name) {
  AttrMap attrs;
  attrs.set("set_operation", std::string(name));
  return attrs;
}

TEST(PartitionTest, DealsRowsOut) {
  auto out = runAll("DynamicPartition", {iota<I>({3, 2}, 1), vec<I>({1, 0, 1})}, twoInt32);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<I>(out[0]), (std::vector<I>{3, 4}));
  EXPECT_EQ(values<I>(out[1]), (std::vector<I>{1, 2, 5, 6}));
  EXPECT_EQ(dimsText(out[1].dims()), "[2,2]");
}

TEST(PartitionTest, Errors) {
  Tensor in = iota<I>({3, 2}, 1);
  for (const Tensor &bad : {vec<I>({0, 1, 2}), vec<I>({0, 1, -1}), vec<I>({0, 1})})
    EXPECT_EQ(errorClassOf("DynamicPartition", {in, bad}, twoInt32), "InvalidArgumentError");
}

TEST(StitchTest, LaterRowsWinAndGapsAreZero) {
  for (const char *op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    Tensor out =
        run1(op, {scalar<I>(4), vec<I>({1, 4}), vec<I>({7, 8}), tensor<I>({2, 2}, {1, 2, 3, 4})},
             DType::Int32);
    EXPECT_EQ(dimsText(out.dims()), "[5,2]") << op;
    EXPECT_EQ(values<I>(out), (std::vector<I>{0, 0, 1, 2, 0, 0, 0, 0, 3, 4})) << op;
  }
}

TEST(StitchTest, Errors) {
  EXPECT_EQ(errorClassOf("DynamicStitch", {vec<I>({-1}), vec<I>({5})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("DynamicStitch", {vec<I>({0, 1}), vec<I>({5})}), "InvalidArgumentError");
  EXPECT_EQ(
      errorClassOf("DynamicStitch", {scalar<I>(0), scalar<I>(1), scalar<I>(5), vec<I>({1, 2})}),
      "InvalidArgumentError");
}

TEST(UniqueTest, FirstOfEachKind) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  auto out =
      runAll("Unique", {vec<float>({0.f, nan, 2, -0.f, nan, 2})}, {DType::Float32, DType::Int32});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].count(), 4);
  EXPECT_EQ(values<I>(out[1]), (std::vector<I>{0, 1, 2, 0, 3, 2}));
  out = runAll("UniqueWithCounts", {vec<std::string>({"b", "a", "b"})},
               {DType::String, DType::Int64, DType::Int64});
  EXPECT_EQ(values<std::string>(out[0]), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(values<L>(out[1]), (std::vector<L>{0, 1, 0}));
  EXPECT_EQ(values<L>(out[2]), (std::vector<L>{2, 1}));
}

TEST(UniqueTest, AlongAnAxis) {
  Tensor in = tensor<I>({3, 2}, {1, 2, 0, 2, 1, 2});
  auto rows = runAll("UniqueV2", {in, vec<L>({0})}, twoInt32);
  EXPECT_EQ(values<I>(rows[0]), (std::vector<I>{1, 2, 0, 2}));
  EXPECT_EQ(values<I>(rows[1]), (std::vector<I>{0, 1, 0}));
  auto columns =
      runAll("UniqueV2", {tensor<I>({2, 3}, {1, 0, 1, 2, 2, 2}), vec<L>({-1})}, twoInt32);
  EXPECT_EQ(values<I>(columns[0]), (std::vector<I>{1, 0, 2, 2}));
  EXPECT_EQ(dimsText(columns[0].dims()), "[2,2]");
  EXPECT_EQ(errorClassOf("UniqueV2", {in, vec<L>({})}, twoInt32), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("UniqueV2", {in, vec<L>({2})}, twoInt32), "InvalidArgumentError");
}

TEST(UniqueTest, ListDiff) {
  auto out = runAll("ListDiff", {vec<I>({1, 2, 3, 2, 4}), vec<I>({2, 4, 9})}, twoInt32);
  EXPECT_EQ(values<I>(out[0]), (std::vector<I>{1, 3}));
  EXPECT_EQ(values<I>(out[1]), (std::vector<I>{0, 2}));
}

struct SetCase {
  const char *operation;
  std::vector<I> values;
  std::vector<L> rows, shape;
};

TEST(SetsTest, DenseToDense) {
  Tensor a = tensor<I>({2, 3}, {3, 1, 2, 5, 5, 6}), b = tensor<I>({2, 2}, {1, 9, 5, 4});
  const SetCase cases[] = {{"union", {1, 2, 3, 9, 4, 5, 6}, {0, 0, 0, 0, 1, 1, 1}, {2, 4}},
                           {"intersection", {1, 5}, {0, 1}, {2, 1}},
                           {"a-b", {2, 3, 6}, {0, 0, 1}, {2, 2}},
                           {"b-a", {9, 4}, {0, 1}, {2, 1}}};
  for (const SetCase &c : cases) {
    auto out = runAll("DenseToDenseSetOperation", {a, b},
                      {DType::Int64, DType::Int32, DType::Int64}, setOperation(c.operation));
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(values<I>(out[1]), c.values) << c.operation;
    EXPECT_EQ(values<L>(out[2]), c.shape) << c.operation;
    for (size_t i = 0; i < c.rows.size(); ++i)
      EXPECT_EQ(out[0].data<L>()[2 * i], c.rows[i]) << c.operation;
  }
}

TEST(SetsTest, SparseInputs) {
  Tensor indices = tensor<L>({2, 2}, {0, 0, 1, 1}), shape = vec<L>({2, 2});
  auto out = runAll(
      "SparseToSparseSetOperation",
      {indices, vec<I>({1, 9}), shape, tensor<L>({2, 2}, {1, 0, 1, 1}), vec<I>({1, 9}), shape},
      {DType::Int64, DType::Int32, DType::Int64}, setOperation("union"));
  EXPECT_EQ(values<L>(out[0]), (std::vector<L>{0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(values<I>(out[1]), (std::vector<I>{1, 1, 9}));
  EXPECT_EQ(values<I>(run1("SetSize", {indices, vec<I>({4, 4}), shape}, DType::Int32)),
            (std::vector<I>{1, 1}));
}

TEST(SetsTest, Errors) {
  std::vector<DType> types = {DType::Int64, DType::Int32, DType::Int64};
  auto error = [&](Tensor a, Tensor b) {
    return errorClassOf("DenseToDenseSetOperation", {a, b}, types, setOperation("union"));
  };
  EXPECT_EQ(error(vec<I>({1}), vec<I>({1})), "InvalidArgumentError");
  EXPECT_EQ(error(tensor<I>({1, 1}, {1}), tensor<I>({2, 1}, {1, 2})), "InvalidArgumentError");
  for (const Tensor &bad : {tensor<L>({2, 2}, {1, 1, 0, 0}), tensor<L>({2, 2}, {0, 0, 5, 0})})
    EXPECT_EQ(errorClassOf("SetSize", {bad, vec<I>({1, 2}), vec<L>({2, 2})}, {DType::Int32}),
              "InvalidArgumentError");
}

} // namespace
} // namespace treadle
