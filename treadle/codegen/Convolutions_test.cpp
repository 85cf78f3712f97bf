// Convolutions with a few weights are compiled, and give what their kernel gives.
#include "treadle/testing/CodegenTesting.h"
#include "treadle/testing/KernelTest.h"

namespace treadle::codegen {
namespace {

struct Case {
  std::vector<int64_t> image, filter;
  std::string padding = "SAME";
  int64_t stride = 1, dilation = 1;
  std::vector<int64_t> pads = {};
};

class ConvolutionsTest : public CodegenTest, public testing::WithParamInterface<Case> {
protected:
  /// Small integers, of which sums are exact.
  static Tensor numbers(const std::vector<int64_t> &dims) {
    Tensor made = *Tensor::make(DType::Float32, dims);
    for (int64_t i = 0; i < made.count(); ++i)
      made.data<float>()[i] = static_cast<float>(i * 7 % 11 - 5);
    return made;
  }
  static std::string listed(const std::vector<int64_t> &numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "[" : ", ") + std::to_string(number);
    return text.empty() ? "[]" : text + "]";
  }
  static std::string typeOf(const std::vector<int64_t> &dims) {
    std::string text = "tensor<";
    for (int64_t dim : dims)
      text += std::to_string(dim) + "x";
    return text + "f32>";
  }

  void run(size_t kernels) {
    const Case &param = GetParam();
    const std::vector<int64_t> strides = {1, param.stride, param.stride + 1, 1},
                               dilations = {1, param.dilation, param.dilation, 1};
    std::string attrs = "T = f32, data_format = \"NHWC\", padding = \"" + param.padding +
                        "\", strides = " + listed(strides) + ", dilations = " + listed(dilations) +
                        ", explicit_paddings = " + listed(param.pads),
                image = typeOf(param.image), filter = typeOf(param.filter);
    Tensor x = numbers(param.image), k = numbers(param.filter);
    std::vector<Tensor> found =
        buildAndCall("tfg.func @f(%x: " + image + " {tfg.name = \"x\"}, %k: " + filter +
                         " {tfg.name = \"k\"}) -> (tensor<*xf32> {tfg.name = \"y\"}) {\n" +
                         op("y", "Conv2D", "%x, %k", attrs,
                            "(" + image + ", " + filter + ") -> (tensor<*xf32>)") +
                         "return(%y) : tensor<*xf32> }",
                     {x, k});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(numKernels, kernels);
    AttrMap given;
    given.set("padding", param.padding);
    given.set("strides", strides);
    given.set("dilations", dilations);
    given.set("explicit_paddings", param.pads);
    Tensor expected = run1("Conv2D", {x, k}, DType::Float32, given);
    EXPECT_TRUE(std::ranges::equal(found[0].dims(), expected.dims()));
    EXPECT_EQ(floats(found[0]), floats(expected));
  }
};

class FewWeightsTest : public ConvolutionsTest {};
TEST_P(FewWeightsTest, AreLoops) { run(0); }
INSTANTIATE_TEST_SUITE_P(
    Convolutions, FewWeightsTest,
    testing::Values(Case{{1, 1, 40, 1}, {1, 3, 1, 1}}, Case{{2, 9, 11, 1}, {3, 3, 1, 1}},
                    Case{{2, 9, 11, 2}, {3, 2, 2, 5}, "VALID", 2},
                    Case{{1, 8, 7, 1}, {2, 3, 1, 1}, "SAME", 3, 2},
                    Case{{1, 3, 3, 1}, {3, 3, 1, 2}, "EXPLICIT", 1, 1, {0, 0, 4, 1, 2, 5, 0, 0}},
                    Case{
                        {1, 20, 30, 3}, {2, 2, 3, 4}, "EXPLICIT", 2, 3, {0, 0, 3, 3, 3, 3, 0, 0}}));

class ManyWeightsTest : public ConvolutionsTest {};
TEST_P(ManyWeightsTest, AreLeftToTheKernel) { run(1); }
INSTANTIATE_TEST_SUITE_P(Convolutions, ManyWeightsTest,
                         testing::Values(Case{{1, 9, 11, 8}, {3, 3, 8, 2}},
                                         Case{{1, 9, 11, 4}, {3, 3, 2, 2}})); // in groups

} // namespace
} // namespace treadle::codegen
