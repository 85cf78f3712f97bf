#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

const Tensor orange = tensor<float>({1, 1, 3}, {1, 0.5f, 0});

TEST(ImageColor, HsvAndBack) {
  Tensor hsv = run1("RGBToHSV", {orange});
  expectNear<float>(hsv, {1.0 / 12, 1, 1});
  expectNear<float>(run1("HSVToRGB", {hsv}), {1, 0.5, 0});
  expectNear<float>(run1("RGBToHSV", {vec<float>({0.5f, 0.5f, 0.5f})}), {0, 0, 0.5});
}

TEST(ImageColor, HueTurnsAndSaturationScales) {
  expectNear<float>(run1("AdjustHue", {orange, scalar(0.5f)}), {0, 0.5, 1});
  expectNear<float>(run1("AdjustHue", {orange, scalar(-0.5f)}), {0, 0.5, 1});
  expectNear<float>(run1("AdjustSaturation", {orange, scalar(0.5f)}), {1, 0.75, 0.5});
  expectNear<float>(run1("AdjustSaturation", {orange, scalar(0.0f)}), {1, 1, 1});
}

TEST(ImageColor, ContrastOfEachChannel) {
  Tensor image = tensor<float>({1, 2, 2}, {1, 10, 3, 10});
  expectNear<float>(run1("AdjustContrastv2", {image, scalar(2.0f)}), {0, 10, 4, 10});
}

TEST(ImageColor, WrongShapes) {
  EXPECT_EQ(errorClassOf("RGBToHSV", {vec<float>({1, 2})}), "FailedPreconditionError");
  EXPECT_EQ(errorClassOf("RGBToHSV", {scalar(1.0f)}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("AdjustHue", {vec<float>({1, 2, 3}), scalar(1.0f)}),
            "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("AdjustSaturation", {orange, vec<float>({1})}), "InvalidArgumentError");
  EXPECT_EQ(errorClassOf("AdjustContrastv2", {vec<float>({1}), scalar(1.0f)}),
            "InvalidArgumentError");
}

} // namespace
} // namespace treadle
