// Layer normalization along the last dimension, against the ops that it replaces.
#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

Tensor waves(std::vector<int64_t> dims, float from) {
  Tensor t = *Tensor::make(DType::Float32, dims);
  for (int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = from + std::sin(1.3F * static_cast<float>(i));
  return t;
}

AttrMap attrsOf(int64_t axis, bool hasScale, bool hasOffset) {
  AttrMap attrs;
  attrs.set("axis", axis);
  attrs.set("epsilon", 1e-3F);
  attrs.set("num_scales", int64_t{hasScale});
  attrs.set("num_offsets", int64_t{hasOffset});
  attrs.set("keep_dims", true);
  return attrs;
}

/// Computes the result with TensorFlow's ops.
Tensor runUnfused(const Tensor &x, int32_t axis, const Tensor *scale, const Tensor *offset) {
  AttrMap keeps;
  keeps.set("keep_dims", true);
  auto meanOf = [&](const Tensor &t) {
    return run1("Mean", {t, Tensor::scalar(DType::Int32, axis)}, DType::Float32, keeps);
  };
  Tensor mean = meanOf(x), epsilon = Tensor::scalar(DType::Float32, 1e-3F);
  Tensor variance = meanOf(run1("SquaredDifference", {x, mean}));
  Tensor y =
      run1("Mul", {run1("Sub", {x, mean}), run1("Rsqrt", {run1("AddV2", {variance, epsilon})})});
  y = scale ? run1("Mul", {y, *scale}) : y;
  return offset ? run1("AddV2", {y, *offset}) : y;
}

TEST(LayerNorm, EqualsItsParts) {
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{1}, {3, 1}, {2, 7}, {2, 5, 33}, {4, 300}, {2, 0}})
    for (int32_t axis = -1; axis < static_cast<int32_t>(dims.size()); ++axis)
      for (const std::vector<int64_t> &columns :
           {std::vector<int64_t>{}, {1}, {dims.back()}, {1, 1, dims.back()}, {2, 1, 1, 1}}) {
        Tensor x = waves(dims, 100), scale = waves(columns, 2), offset = waves(columns, -1);
        Tensor want = runUnfused(x, axis, &scale, &offset);
        Tensor got =
            run1("_LayerNorm", {x, scale, offset}, DType::Float32, attrsOf(axis, true, true));
        ASSERT_EQ(dimsText(got.dims()), dimsText(want.dims()));
        for (int64_t i = 0; i < want.count(); ++i)
          ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 2e-3) << i;
      }
}

TEST(LayerNorm, ScaleAndOffsetMayBeMissing) {
  Tensor x = waves({3, 9}, 0), by = waves({9}, 1);
  auto expect = [](const Tensor &got, const Tensor &want) {
    for (int64_t i = 0; i < want.count(); ++i)
      EXPECT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-5);
  };
  auto run = [&](bool hasScale, bool hasOffset) {
    std::vector<Tensor> inputs = {x};
    if (hasScale || hasOffset)
      inputs.push_back(by);
    return run1("_LayerNorm", inputs, DType::Float32, attrsOf(-1, hasScale, hasOffset));
  };
  expect(run(false, false), runUnfused(x, -1, nullptr, nullptr));
  expect(run(true, false), runUnfused(x, -1, &by, nullptr));
  expect(run(false, true), runUnfused(x, -1, nullptr, &by));
}

TEST(LayerNorm, NaNStaysInItsRow) {
  Tensor x = waves({3, 9}, 0);
  x.data<float>()[10] = std::nanf("");
  x.data<float>()[20] = std::numeric_limits<float>::infinity();
  Tensor y = run1("_LayerNorm", {x}, DType::Float32, attrsOf(-1, false, false));
  for (int64_t i = 0; i < y.count(); ++i)
    EXPECT_EQ(std::isnan(y.data<float>()[i]), i >= 9) << i;
}

TEST(LayerNorm, MismatchedShapesAreErrors) {
  Tensor x = waves({3, 9}, 0);
  EXPECT_NE(errorOf("_LayerNorm", {x, waves({4}, 0)}, {DType::Float32}, attrsOf(-1, true, false)),
            "");
  EXPECT_NE(errorOf("_LayerNorm", {x}, {DType::Float32}, attrsOf(2, false, false)), "");
  EXPECT_NE(errorOf("_LayerNorm", {x}, {DType::Float32}, attrsOf(-1, true, false))
                .find("one scale and one offset"),
            std::string::npos);
}

} // namespace
} // namespace treadle
