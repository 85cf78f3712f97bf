// Optionals: wrapping and unwrapping tensors, and arithmetic.
#include "treadle/kernels/lists/Optional.h"

#include "treadle/kernels/lists/TensorList.h"
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

Tensor optionalOf(std::vector<Tensor> components) {
  return run1("OptionalFromValue", std::move(components), DType::Variant);
}
Tensor none() { return run1("OptionalNone", {}, DType::Variant); }

AttrMap shapes(std::vector<PartialShape> list) {
  AttrMap attrs;
  attrs.set("output_shapes", std::move(list));
  return attrs;
}

TEST(Optional, returnsItsComponents) {
  Tensor a = vec<float>({1, 2}), b = scalar<int32_t>(3);
  Tensor optional = optionalOf({a, b});
  EXPECT_TRUE(run1("OptionalHasValue", {optional}, DType::Bool).scalarValue<bool>());
  auto out = runAll("OptionalGetValue", {optional}, {DType::Float32, DType::Int32},
                    shapes({PartialShape::ranked({-1}), PartialShape()}));
  EXPECT_TRUE(out.at(0).sharesElementsWith(a));
  EXPECT_EQ(out.at(1).scalarValue<int32_t>(), 3);
}

TEST(Optional, nothingHasNoValue) {
  EXPECT_FALSE(run1("OptionalHasValue", {none()}, DType::Bool).scalarValue<bool>());
  EXPECT_EQ(errorClassOf("OptionalGetValue", {none()}, {DType::Float32}), "InvalidArgumentError");
}

TEST(Optional, componentsMustBeAsAsked) {
  Tensor optional = optionalOf({vec<float>({1, 2})});
  EXPECT_EQ(errorClassOf("OptionalGetValue", {optional}, {DType::Int32}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("OptionalGetValue", {optional}, {DType::Float32, DType::Float32}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("OptionalGetValue", {optional}, {DType::Float32},
                         shapes({PartialShape::ranked({3})})),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("OptionalHasValue", {Tensor::makeScalar(DType::Variant)}, {DType::Bool}),
            "InvalidArgumentError");
}

TEST(Optional, addsAndZerosComponents) {
  Tensor a = optionalOf({vec<float>({1, 2})}), b = optionalOf({vec<float>({10, 20})});
  auto sum = addVariantTensors(a, b);
  ASSERT_TRUE(sum) << sum.error().message;
  EXPECT_EQ(values<float>(run1("OptionalGetValue", {*sum}, DType::Float32)),
            (std::vector<float>{11, 22}));
  EXPECT_EQ(values<float>(run1("OptionalGetValue", {a}, DType::Float32)),
            (std::vector<float>{1, 2}));
  auto zeros = zerosLikeVariants(a);
  ASSERT_TRUE(zeros);
  EXPECT_EQ(values<float>(run1("OptionalGetValue", {*zeros}, DType::Float32)),
            (std::vector<float>{0, 0}));
  EXPECT_FALSE(addVariantTensors(a, none()));
  EXPECT_TRUE(addVariantTensors(none(), none()));
}

} // namespace
} // namespace treadle
