#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

AttrMap corners(bool aligns, bool centres) {
  AttrMap attrs;
  attrs.set("align_corners", aligns);
  attrs.set("half_pixel_centers", centres);
  return attrs;
}

const Tensor line = tensor<float>({1, 1, 2, 1}, {0, 8});

TEST(ImageResize, BilinearByEachRule) {
  Tensor size = vec<int32_t>({1, 4});
  auto resized = [&](bool aligns, bool centres) {
    return run1("ResizeBilinear", {line, size}, DType::Float32, corners(aligns, centres));
  };
  expectNear<float>(resized(false, false), {0, 4, 8, 8});
  expectNear<float>(resized(true, false), {0, 8.0 / 3, 16.0 / 3, 8}, 1e-5);
  expectNear<float>(resized(false, true), {0, 2, 6, 8});
}

TEST(ImageResize, BilinearOfBytesGivesFloats) {
  Tensor bytes = tensor<uint8_t>({1, 2, 1, 1}, {0, 255});
  expectNear<float>(run1("ResizeBilinear", {bytes, vec<int32_t>({4, 1})}, DType::Float32),
                    {0, 127.5, 255, 255});
}

TEST(ImageResize, NearestKeepsTheDType) {
  Tensor names = tensor<int32_t>({1, 1, 3, 1}, {5, 6, 7});
  Tensor size = vec<int32_t>({1, 5});
  EXPECT_EQ(values<int32_t>(run1("ResizeNearestNeighbor", {names, size})),
            (std::vector<int32_t>{5, 5, 6, 6, 7}));
  EXPECT_EQ(values<int32_t>(
                run1("ResizeNearestNeighbor", {names, size}, DType::Int32, corners(true, false))),
            (std::vector<int32_t>{5, 6, 6, 7, 7}));
}

TEST(ImageResize, BicubicOvershoots) {
  expectNear<float>(run1("ResizeBicubic", {line, vec<int32_t>({1, 4})}), {0, 4, 8, 8.75}, 1e-5);
}

TEST(ImageResize, AreaTakesMeans) {
  Tensor four = tensor<float>({1, 2, 2, 1}, {1, 2, 3, 4});
  expectNear<float>(run1("ResizeArea", {four, vec<int32_t>({1, 1})}), {2.5});
  expectNear<float>(run1("ResizeArea", {line, vec<int32_t>({1, 3})}), {0, 4, 8}, 1e-5);
  expectNear<float>(
      run1("ResizeArea", {line, vec<int32_t>({2, 1})}, DType::Float32, corners(true, false)),
      {4, 4});
}

TEST(ImageResize, GradientsAddUpWhatWasSpread) {
  Tensor gradient = tensor<float>({1, 1, 4, 1}, {1, 2, 4, 8});
  expectNear<float>(run1("ResizeBilinearGrad", {gradient, line}), {1 + 1, 1 + 4 + 8});
  expectNear<float>(run1("ResizeNearestNeighborGrad", {gradient, vec<int32_t>({1, 2})}), {3, 12});
  expectNear<double>(
      run1("ResizeBicubicGrad", {gradient, tensor<double>({1, 1, 2, 1}, {0, 8})}, DType::Float64),
      {1.25, 13.75}, 1e-5);
}

TEST(ImageResize, SumsOfIntegersWrapAround) {
  Tensor gradient = tensor<int32_t>({1, 1, 2, 1}, {INT32_MAX, INT32_MAX});
  EXPECT_EQ(values<int32_t>(run1("ResizeNearestNeighborGrad", {gradient, vec<int32_t>({1, 1})})),
            std::vector<int32_t>{-2});
}

TEST(ImageResize, WrongShapesAndSizes) {
  Tensor size = vec<int32_t>({1, 4});
  for (const char *op :
       {"ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"}) {
    EXPECT_EQ(errorClassOf(op, {vec<float>({1}), size}), "InvalidArgumentError") << op;
    EXPECT_EQ(errorClassOf(op, {line, vec<int32_t>({1, 0})}), "InvalidArgumentError") << op;
    EXPECT_EQ(errorClassOf(op, {line, scalar<int32_t>(3)}), "InvalidArgumentError") << op;
    EXPECT_EQ(errorClassOf(op, {tensor<float>({1, 0, 2, 1}, {}), size}), "InvalidArgumentError")
        << op;
    EXPECT_EQ(errorClassOf(op, {line, size}, {}, corners(true, true)), "InvalidArgumentError")
        << op;
  }
  EXPECT_EQ(errorClassOf("ResizeBilinearGrad", {line, tensor<float>({1, 1, 0, 1}, {})}),
            "InvalidArgumentError");
}

TEST(ScaleAndTranslate, MovesByWholePixels) {
  Tensor image = tensor<float>({1, 1, 3, 1}, {1, 2, 3});
  AttrMap attrs;
  attrs.set("kernel_type", std::string("triangle"));
  attrs.set("antialias", true);
  Tensor scale = vec<float>({1, 1}), move = vec<float>({0, 1});
  expectNear<float>(
      run1("ScaleAndTranslate", {image, vec<int32_t>({1, 4}), scale, move}, DType::Float32, attrs),
      {0, 1, 2, 3});
  expectNear<float>(
      run1("ScaleAndTranslateGrad", {image, image, scale, move}, DType::Float32, attrs), {2, 3, 0});
  EXPECT_EQ(errorOf("ScaleAndTranslate", {image, vec<int32_t>({1, 4}), vec<float>({1, 0}), move},
                    {}, attrs),
            "InvalidArgumentError: scale must be greater than zero, but is [1,0]");
  attrs.set("kernel_type", std::string("none"));
  EXPECT_EQ(
      errorClassOf("ScaleAndTranslate", {image, vec<int32_t>({1, 4}), scale, move}, {}, attrs),
      "InvalidArgumentError");
}

TEST(CropAndResize, InsideAndOutside) {
  Tensor image = tensor<float>({1, 2, 2, 1}, {0, 2, 4, 6});
  Tensor boxes = tensor<float>({2, 4}, {0, 0, 1, 1, 0, 0.5, 2, 0.5});
  AttrMap attrs;
  attrs.set("extrapolation_value", -1.0f);
  auto crop = [&](Tensor of) {
    return run1("CropAndResize", {image, boxes, of, vec<int32_t>({2, 1})}, DType::Float32, attrs);
  };
  expectNear<float>(crop(vec<int32_t>({0, 0})), {1, 5, 1, -1});
  EXPECT_EQ(errorOf("CropAndResize", {image, boxes, vec<int32_t>({0, 1}), vec<int32_t>({2, 1})}),
            "OutOfRangeError: box_ind[1] is 1, but there are 1 images");
  boxes.data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(
      errorClassOf("CropAndResize", {image, boxes, vec<int32_t>({0, 0}), vec<int32_t>({2, 1})}),
      "InvalidArgumentError");
}

TEST(CropAndResize, Gradients) {
  Tensor image = tensor<float>({1, 2, 2, 1}, {0, 2, 4, 6}), of = vec<int32_t>({0});
  Tensor boxes = tensor<float>({1, 4}, {0, 0, 1, 1}), gradient = tensor<float>({1, 1, 1, 1}, {4});
  expectNear<float>(
      run1("CropAndResizeGradImage", {gradient, boxes, of, vec<int32_t>({1, 2, 2, 1})}),
      {1, 1, 1, 1});
  expectNear<float>(run1("CropAndResizeGradBoxes", {gradient, image, boxes, of}), {8, 4, 8, 4});
}

} // namespace
} // namespace treadle
