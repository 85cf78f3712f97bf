// Tests of crosses of features and of counts as sparse tensors; expected values are TensorFlow's.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

using Longs = std::vector<int64_t>;
using Texts = std::vector<std::string>;

AttrMap with(std::initializer_list<std::pair<std::string_view, AttrValue>> attrs) {
  AttrMap map;
  for (const auto &[name, value] : attrs)
    map.set(name, value);
  return map;
}
std::vector<TypeAttr> types(std::initializer_list<DType> dtypes) {
  std::vector<TypeAttr> list;
  for (DType dtype : dtypes)
    list.push_back({dtype});
  return list;
}

const std::vector<Tensor> columns = {tensor<int64_t>({3, 2}, {0, 0, 0, 1, 1, 0}),
                                     vec<std::string>({"a", "b", "c"}), vec<int64_t>({2, 2}),
                                     tensor<int64_t>({2, 1}, {1, 2})};
std::vector<Tensor> columnsAnd(std::vector<Tensor> more) {
  std::vector<Tensor> all = columns;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
AttrMap oneSparse() { return with({{"N", int64_t{1}}, {"sparse_types", types({DType::String})}}); }

TEST(FeatureCrossTest, Joined) {
  std::vector<DType> outs = {DType::Int64, DType::String, DType::Int64};
  auto out = runAll("SparseCrossV2", columnsAnd({scalar<std::string>("+")}), outs, oneSparse());
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(values<std::string>(out[1]), (Texts{"a+1", "b+1", "c+2"}));
  EXPECT_EQ(values<int64_t>(out[2]), (Longs{2, 2}));
  EXPECT_EQ(errorClassOf("SparseCrossV2", columnsAnd({vec<std::string>({"+"})}), outs, oneSparse()),
            "InvalidArgumentError");
  std::vector<Tensor> bad = columnsAnd({scalar<std::string>("+")});
  bad[3] = tensor<int64_t>({3, 1}, {1, 2, 3}); // wrong rows
  EXPECT_EQ(errorClassOf("SparseCrossV2", bad, outs, oneSparse()), "InvalidArgumentError");
}

TEST(FeatureCrossTest, Hashed) {
  std::vector<DType> outs = {DType::Int64, DType::Int64, DType::Int64};
  auto out = runAll("SparseCrossHashed",
                    columnsAnd({scalar<int64_t>(0), scalar(false), vec<int64_t>({1, 2})}), outs,
                    oneSparse());
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[1]),
            (Longs{6222962060873510234, 990312396925660322, 2086219534272049810}));
}

TEST(FeatureCrossTest, Ragged) {
  auto attrs = with({{"ragged_values_types", types({DType::String})},
                     {"ragged_splits_types", types({DType::Int32})},
                     {"dense_types", types({DType::Int64})},
                     {"input_order", std::string("DR")}});
  std::vector<Tensor> inputs = {vec<std::string>({"a", "b", "c"}), vec<int32_t>({0, 2, 3}),
                                tensor<int64_t>({2, 1}, {1, 2})};
  auto out = runAll("RaggedCross", inputs, {DType::String, DType::Int32}, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(values<std::string>(out[0]), (Texts{"1_X_a", "1_X_b", "2_X_c"}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{0, 2, 3}));
  attrs.set("input_order", std::string("DD"));
  EXPECT_EQ(errorClassOf("RaggedCross", inputs, {DType::String, DType::Int32}, attrs),
            "InvalidArgumentError");
}

TEST(CountSparseTest, Rows) {
  std::vector<DType> outs = {DType::Int64, DType::Float32, DType::Int64};
  Tensor numbers = tensor<int32_t>({2, 3}, {1, 1, 0, 2, 2, 9}), none = vec<float>({});
  auto out = runAll("DenseCountSparseOutput", {numbers, none}, outs,
                    with({{"minlength", int64_t{-1}}, {"maxlength", int64_t{4}}}));
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{0, 0, 0, 1, 1, 2}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{1, 2, 2}));
  EXPECT_EQ(values<int64_t>(out[2]), (Longs{2, 4}));
  out = runAll("RaggedCountSparseOutput",
               {vec<int64_t>({0, 0, 3}), vec<int32_t>({2, 0, 2}), vec<float>({1, 2, 4})}, outs);
  EXPECT_EQ(values<int64_t>(out[0]), (Longs{1, 0, 1, 2}));
  EXPECT_EQ(values<float>(out[1]), (std::vector<float>{2, 5}));
  EXPECT_EQ(values<int64_t>(out[2]), (Longs{2, 3}));
  EXPECT_EQ(errorClassOf("DenseCountSparseOutput", {vec<int32_t>({-1}), none}, outs),
            "InvalidArgumentError");
}

TEST(CountSparseTest, SumsOfIntegersWrapAround) {
  Tensor weights = vec<int32_t>({INT32_MAX, INT32_MAX});
  auto out = runAll("DenseCountSparseOutput", {vec<int64_t>({INT64_MAX, INT64_MAX}), weights},
                    {DType::Int64, DType::Int32, DType::Int64});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int64_t>(out[0]), Longs{INT64_MAX});
  EXPECT_EQ(values<int32_t>(out[1]), std::vector<int32_t>{-2});
}

} // namespace
} // namespace treadle
