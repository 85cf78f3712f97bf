// Bounding boxes and random crops. The expected random numbers are TensorFlow's for these seeds.
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

AttrMap with(std::string_view name, AttrValue value) {
  AttrMap attrs;
  attrs.set(name, std::move(value));
  return attrs;
}

TEST(DrawBoundingBoxes, DrawsWhatIsInside) {
  Tensor image = tensor<float>({1, 3, 3, 1}, std::vector<float>(9));
  Tensor colours = tensor<float>({2, 1}, {5, 7});
  Tensor boxes = tensor<float>({1, 2, 4}, {0, 0, 1, 1, 0.5f, 0.5f, 2, 2});
  EXPECT_EQ(values<float>(run1("DrawBoundingBoxesV2", {image, boxes, colours})),
            (std::vector<float>{5, 5, 5, 5, 7, 7, 5, 7, 5}));
  Tensor inverted = tensor<float>({1, 1, 4}, {1, 0, 0, 1});
  EXPECT_EQ(values<float>(run1("DrawBoundingBoxes", {image, inverted})), std::vector<float>(9));
  EXPECT_EQ(errorOf("DrawBoundingBoxes", {image, tensor<float>({1, 1, 3}, {0, 0, 1})}),
            "InvalidArgumentError: boxes must have shape [1,count,4], but has [1,1,3]");
}

TEST(SampleDistortedBoundingBox, DrawsFromTheSeedsStream) {
  std::vector<Tensor> out =
      runAll("StatelessSampleDistortedBoundingBox",
             {vec<int32_t>({100, 80, 3}), tensor<float>({1, 1, 4}, {.2f, .3f, .7f, .9f}),
              scalar(0.3f), vec<int32_t>({1, 2})},
             {DType::Int32, DType::Int32, DType::Float32});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(values<int32_t>(out[0]), (std::vector<int32_t>{12, 3, 0}));
  EXPECT_EQ(values<int32_t>(out[1]), (std::vector<int32_t>{58, 72, -1}));
  expectNear<float>(out[2], {0.12, 0.0375, 0.7, 0.9375});
}

TEST(SampleDistortedBoundingBox, NeedsABoxUnlessTheImageWillDo) {
  std::vector<Tensor> in = {vec<int32_t>({100, 80, 3}), tensor<float>({1, 0, 4}, {}), scalar(0.3f),
                            vec<int32_t>({1, 2})};
  std::vector<DType> types = {DType::Int32, DType::Int32, DType::Float32};
  EXPECT_EQ(errorOf("StatelessSampleDistortedBoundingBox", in, types),
            "InvalidArgumentError: bounding_boxes is empty; set use_image_if_no_bounding_boxes to "
            "allow that");
  EXPECT_EQ(runAll("StatelessSampleDistortedBoundingBox", in, types,
                   with("use_image_if_no_bounding_boxes", true))
                .size(),
            3u);
}

// Boxes may have 2^62 pixels, and the sides of drawn boxes may exceed any integer.
TEST(SampleDistortedBoundingBox, ImagesOfAnySize) {
  for (float aspect : {1.0f, 1e-30f, 1e30f}) {
    AttrMap attrs = with("aspect_ratio_range", std::vector<float>{aspect, aspect});
    attrs.set("area_range", std::vector<float>{1e-9f, 1});
    auto out = runAll("StatelessSampleDistortedBoundingBox",
                      {vec<int32_t>({INT32_MAX - 1, INT32_MAX - 1, 3}),
                       tensor<float>({1, 1, 4}, {0, 0, 1, 1}), scalar(0.0f), vec<int32_t>({1, 2})},
                      {DType::Int32, DType::Int32, DType::Float32}, attrs);
    ASSERT_EQ(out.size(), 3u);
    for (float share : values<float>(out[2]))
      EXPECT_TRUE(share >= 0 && share <= 1) << aspect << ": " << share;
  }
}

TEST(RandomCrop, OfMoreRowsThanA32BitNumberHas) {
  Tensor image = *Tensor::make(DType::Int32, {int64_t{1} << 32, 1, 0});
  EXPECT_EQ(run1("RandomCrop", {image, vec<int64_t>({1, 1})}).count(), 0);
}

TEST(RandomCrop, DrawsColumnsThenRows) {
  AttrMap attrs = with("seed", int64_t{7});
  attrs.set("seed2", int64_t{8});
  EXPECT_EQ(values<int32_t>(run1("RandomCrop", {iota<int32_t>({6, 10, 1}, 0), vec<int64_t>({2, 3})},
                                 {}, attrs)),
            (std::vector<int32_t>{36, 37, 38, 46, 47, 48}));
  EXPECT_EQ(errorClassOf("RandomCrop", {iota<int32_t>({6, 10, 1}, 0), vec<int64_t>({7, 3})}),
            "FailedPreconditionError");
}

TEST(ExtractGlimpse, CopiesWhatOverlaps) {
  AttrMap attrs = with("noise", std::string("zero"));
  attrs.set("uniform_noise", false);
  attrs.set("normalized", false);
  attrs.set("centered", false);
  Tensor image = iota<float>({1, 3, 3, 1}, 1), size = vec<int32_t>({2, 2});
  auto glimpse = [&](const char *op, float y, float x) {
    return values<float>(run1(op, {image, size, tensor<float>({1, 2}, {y, x})}, {}, attrs));
  };
  EXPECT_EQ(glimpse("ExtractGlimpseV2", 1, 2), (std::vector<float>{6, 0, 9, 0}));
  EXPECT_EQ(glimpse("ExtractGlimpse", 1, 2), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(glimpse("ExtractGlimpseV2", -1, 0), (std::vector<float>{0, 0, 1, 2}));
}

TEST(AdjustContrast, FirstVersionClips) {
  EXPECT_EQ(values<float>(run1("AdjustContrast",
                               {tensor<uint8_t>({1, 2, 1}, {100, 200}), scalar(3.0f), scalar(10.0f),
                                scalar(250.0f)},
                               DType::Float32)),
            (std::vector<float>{10, 250}));
}

} // namespace
} // namespace treadle
