// Tests of tensor maps and of composite tensors in variants.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

Tensor empty() { return run1("EmptyTensorMap", {}, DType::Variant); }
template <typename K> Tensor with(Tensor map, K key, float value) {
  return run1("TensorMapInsert", {std::move(map), scalar(key), scalar(value)}, DType::Variant);
}
Tensor keyed(const Tensor &map, int32_t key) {
  return run1("TensorMapLookup", {map, scalar(key)}, DType::Float32);
}
int32_t size(const Tensor &map) {
  return run1("TensorMapSize", {map}, DType::Int32).scalarValue<int32_t>();
}

TEST(TensorMapTest, InsertsLooksUpErases) {
  Tensor one = with(empty(), 1, 10.0f), two = with(one, 5, 50.0f), other = with(two, 1, 11.0f);
  EXPECT_EQ(size(one), 1);
  EXPECT_EQ(size(two), 2);
  EXPECT_EQ(keyed(two, 1).scalarValue<float>(), 10);
  EXPECT_EQ(keyed(other, 1).scalarValue<float>(), 11);
  EXPECT_EQ(values<int32_t>(run1("TensorMapStackKeys", {two}, DType::Int32)),
            (std::vector<int32_t>{1, 5}));
  Tensor fewer = run1("TensorMapErase", {two, scalar(1)}, DType::Variant);
  EXPECT_EQ(size(fewer), 1);
  EXPECT_EQ(keyed(fewer, 5).scalarValue<float>(), 50);
  EXPECT_EQ(size(two), 2); // values are immutable
  auto has = [&](Tensor key) {
    return run1("TensorMapHasKey", {two, std::move(key)}, DType::Bool).scalarValue<bool>();
  };
  EXPECT_TRUE(has(scalar(5)));
  EXPECT_FALSE(has(scalar<int64_t>(5)));
  EXPECT_FALSE(has(vec<int32_t>({5})));
}

TEST(TensorMapTest, Errors) {
  Tensor map = with(empty(), 1, 10.0f);
  for (const auto &[op, input, type] : {std::tuple("TensorMapLookup", map, DType::Int32),
                                        std::tuple("TensorMapStackKeys", map, DType::Float32),
                                        std::tuple("TensorMapStackKeys", empty(), DType::Int32)})
    EXPECT_EQ(errorClassOf(op, {input, scalar(1)}, {type}), "InvalidArgumentError") << op;
  EXPECT_EQ(errorClassOf("TensorMapErase", {map, scalar(2)}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("TensorMapSize", {scalar(1)}), "InvalidArgumentError");
}

TEST(TensorMapTest, SumsAndZeros) {
  Tensor a = with(with(empty(), 1, 2.0f), 5, 3.0f), b = with(with(empty(), 1, 2.5f), 7, 1.0f);
  Tensor sum = run1("AddN", {a, b}, DType::Variant);
  EXPECT_EQ(size(sum), 3);
  EXPECT_EQ(keyed(sum, 1).scalarValue<float>(), 4.5f);
  EXPECT_EQ(size(run1("ZerosLike", {a}, DType::Variant)), 0);
}

TEST(CompositeTensorTest, PacksAndUnpacks) {
  Tensor packed = run1("CompositeTensorVariantFromComponents", {scalar(1.5f), vec<int32_t>({1, 2})},
                       DType::Variant);
  auto parts =
      runAll("CompositeTensorVariantToComponents", {packed}, {DType::Float32, DType::Int32});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].scalarValue<float>(), 1.5f);
  EXPECT_EQ(errorClassOf("CompositeTensorVariantToComponents", {packed}, {DType::Float32}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
