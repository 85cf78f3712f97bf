#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

Tensor moved(const char *fill, const char *interpolation, float by) {
  AttrMap attrs;
  attrs.set("fill_mode", std::string(fill));
  attrs.set("interpolation", std::string(interpolation));
  Tensor image = tensor<float>({1, 1, 3, 1}, {1, 2, 3});
  Tensor projection = tensor<float>({1, 8}, {1, 0, by, 0, 1, 0, 0, 0});
  return run1("ImageProjectiveTransformV3", {image, projection, vec<int32_t>({1, 4}), scalar(9.0f)},
              DType::Float32, attrs);
}

TEST(ImageTransform, FillValueThatNoElementHolds) {
  AttrMap attrs;
  attrs.set("fill_mode", std::string("CONSTANT"));
  attrs.set("interpolation", std::string("NEAREST"));
  Tensor image = tensor<int32_t>({1, 1, 1, 1}, {1}),
         away = tensor<float>({1, 8}, {1, 0, -9, 0, 1, 0, 0, 0});
  EXPECT_EQ(values<int32_t>(run1("ImageProjectiveTransformV3",
                                 {image, away, vec<int32_t>({1, 1}), scalar(1e30f)}, DType::Int32,
                                 attrs)),
            std::vector<int32_t>{INT32_MIN}); // as in Cast
}

TEST(ImageTransform, EachFillMode) {
  expectNear<float>(moved("CONSTANT", "NEAREST", -1), {9, 1, 2, 3});
  expectNear<float>(moved("NEAREST", "NEAREST", -1), {1, 1, 2, 3});
  expectNear<float>(moved("REFLECT", "NEAREST", 1), {2, 3, 3, 2});
  // Beyond one period TensorFlow steps back too far, and ends at the border.
  expectNear<float>(moved("WRAP", "NEAREST", 1), {2, 3, 1, 1});
  expectNear<float>(moved("CONSTANT", "BILINEAR", 0.5f), {1.5, 2.5, 6, 9});
}

TEST(ImageTransform, Patches) {
  AttrMap attrs;
  attrs.set("ksizes", std::vector<int64_t>{1, 1, 2, 1});
  attrs.set("strides", std::vector<int64_t>{1, 1, 1, 1});
  attrs.set("rates", std::vector<int64_t>{1, 1, 2, 1});
  attrs.set("padding", std::string("VALID"));
  Tensor image = iota<int32_t>({1, 1, 4, 1}, 1);
  EXPECT_EQ(values<int32_t>(run1("ExtractImagePatches", {image}, DType::Int32, attrs)),
            (std::vector<int32_t>{1, 3, 2, 4}));
  attrs.set("padding", std::string("SAME"));
  EXPECT_EQ(values<int32_t>(run1("ExtractImagePatches", {image}, DType::Int32, attrs)),
            (std::vector<int32_t>{0, 2, 1, 3, 2, 4, 3, 0}));
}

TEST(ImageTransform, PatchesOfVolumesSkipTheBorder) {
  AttrMap attrs;
  attrs.set("ksizes", std::vector<int64_t>{1, 1, 1, 1, 1});
  attrs.set("strides", std::vector<int64_t>{1, 1, 1, 3, 1});
  attrs.set("padding", std::string("SAME"));
  EXPECT_EQ(values<int32_t>(run1("ExtractVolumePatches", {iota<int32_t>({1, 1, 1, 3, 1}, 1)},
                                 DType::Int32, attrs)),
            (std::vector<int32_t>{2}));
}

TEST(ImageTransform, WrongInputs) {
  Tensor image = tensor<float>({1, 1, 3, 1}, {1, 2, 3}), size = vec<int32_t>({1, 4});
  auto error = [&](Tensor projection, const AttrMap &attrs) {
    return errorClassOf("ImageProjectiveTransformV2", {image, projection, size}, {}, attrs);
  };
  EXPECT_EQ(error(vec<float>({1}), {}), "InvalidArgumentError");
  AttrMap attrs;
  attrs.set("fill_mode", std::string("MIRROR"));
  EXPECT_EQ(error(iota<float>({1, 8}, 0), attrs), "InvalidArgumentError");
  AttrMap window;
  window.set("ksizes", std::vector<int64_t>{1, 0, 2, 1});
  EXPECT_EQ(errorClassOf("ExtractImagePatches", {image}, {}, window), "InvalidArgumentError");
}

} // namespace
} // namespace treadle
