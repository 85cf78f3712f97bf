// Debug outputs of tensors; the expected values are TensorFlow's.
#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

const Tensor odd = tensor<float>({2, 3}, {1, NAN, INFINITY, -INFINITY, 0, -2});

AttrMap ofMode(int64_t mode, int64_t id = 7) {
  AttrMap attrs;
  attrs.set("tensor_debug_mode", mode);
  attrs.set("tensor_id", id);
  return attrs;
}

TEST(DebugNumbersTest, Counts) {
  EXPECT_EQ(values<int64_t>(run1("DebugNanCount", {odd}, DType::Int64)), std::vector<int64_t>{1});
  EXPECT_EQ(values<float>(run1("DebugNumericSummaryV2", {odd}, DType::Float32, ofMode(4))),
            (std::vector<float>{7, -1, 1, 2, 6, 1, 1, 1, 1, 1, 1}));
  Tensor deep = tensor<float>({1, 2, 3, 1, 2, 1, 2, 2}, std::vector<float>(48, 1));
  EXPECT_EQ(values<double>(run1("DebugNumericSummaryV2", {deep}, DType::Float64, ofMode(5))),
            (std::vector<double>{7, 1, 8, 48, 3, 1, 2, 1, 2, 2}));
  EXPECT_EQ(errorClassOf("DebugNumericSummaryV2", {odd}, {DType::Float32}, ofMode(1)),
            "UnimplementedError");
  EXPECT_EQ(errorClassOf("DebugNumericSummaryV2", {odd}, {DType::Float32}, ofMode(2, 1 << 25)),
            "InvalidArgumentError");
}

TEST(DebugNumbersTest, SummaryWithBounds) {
  AttrMap bounds;
  bounds.set("lower_bound", -1.5f);
  bounds.set("upper_bound", 1.0f);
  expectNear<double>(run1("DebugNumericSummary", {odd}, DType::Float64, bounds),
                     {1, 6, 1, 2, 0, 1, 0, 2, -2, 1, -1.0 / 3, 1.5555555555555556, 1, 2, 2, 3},
                     1e-12);
}

} // namespace
} // namespace treadle
