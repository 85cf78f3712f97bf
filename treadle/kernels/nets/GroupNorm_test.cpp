// Group normalization, in both layouts.
#include "treadle/testing/KernelTest.h"

#include <cmath>

namespace treadle {
namespace {

AttrMap attrsOf(int64_t groups, const char *format) {
  AttrMap attrs;
  attrs.set("groups", groups);
  attrs.set("epsilon", 1e-3F);
  attrs.set("data_format", std::string(format));
  return attrs;
}

float element(int64_t i) { return 20 + std::sin(0.7F * static_cast<float>(i)); }

struct Sizes {
  int64_t images, channels, positions, groups;
};

std::vector<Tensor> run(const Sizes &s, bool isLast) {
  Tensor x = *Tensor::make(DType::Float32, isLast ? std::vector{s.images, s.positions, s.channels}
                                                  : std::vector{s.images, s.channels, s.positions});
  Tensor scale = *Tensor::make(DType::Float32, {s.channels}),
         offset = *Tensor::make(DType::Float32, {s.channels});
  for (int64_t c = 0; c < s.channels; ++c) {
    scale.data<float>()[c] = static_cast<float>(c) - 1;
    offset.data<float>()[c] = static_cast<float>(c) / 2;
  }
  for (int64_t i = 0; i < x.count(); ++i) {
    int64_t p = i % s.positions, c = i / s.positions % s.channels,
            n = i / (s.positions * s.channels);
    int64_t at = isLast ? (n * s.positions + p) * s.channels + c : i;
    x.data<float>()[at] = element(i);
  }
  return runAll("_GroupNorm", {x, scale, offset}, std::vector(3, DType::Float32),
                attrsOf(s.groups, isLast ? "NHWC" : "NCHW"));
}

TEST(GroupNorm, NormalisesEachGroup) {
  for (Sizes s : {Sizes{1, 1, 1, 1},
                  {2, 6, 5, 3},
                  {1, 8, 200, 8},
                  {3, 130, 17, 2},
                  {1, 96, 64, 32},
                  {2, 12, 3, 1}}) {
    std::vector<Tensor> first = run(s, false), last = run(s, true);
    ASSERT_EQ(first.size(), 3U);
    ASSERT_EQ(last.size(), 3U);
    int64_t per = s.channels / s.groups * s.positions;
    for (int64_t i = 0; i < s.images * s.channels * s.positions; ++i) {
      int64_t group = i / per, p = i % s.positions, c = i / s.positions % s.channels,
              n = i / (s.positions * s.channels);
      double mean = 0, square = 0;
      for (int64_t j = group * per; j < (group + 1) * per; ++j)
        mean += element(j) / static_cast<double>(per);
      for (int64_t j = group * per; j < (group + 1) * per; ++j)
        square += std::pow(element(j) - mean, 2) / static_cast<double>(per);
      double rstd = 1 / std::sqrt(square + 1e-3);
      double want =
          (element(i) - mean) * rstd * static_cast<double>(c - 1) + static_cast<double>(c) / 2;
      double tolerance = 2e-4 * static_cast<double>(std::max<int64_t>(c, 1));
      ASSERT_NEAR(first[0].data<float>()[i], want, tolerance) << i;
      ASSERT_NEAR(last[0].data<float>()[(n * s.positions + p) * s.channels + c], want, tolerance);
      for (const auto &results : {first, last}) {
        ASSERT_NEAR(results[1].data<float>()[group], mean, 1e-5 * mean);
        ASSERT_NEAR(results[2].data<float>()[group], rstd, 1e-3 * rstd);
      }
    }
  }
}

TEST(GroupNorm, MismatchedShapesAreErrors) {
  auto errorOf = [](int64_t groups, std::vector<int64_t> dims, int64_t channels) {
    Tensor x = *Tensor::make(DType::Float32, dims), v = *Tensor::make(DType::Float32, {channels});
    auto out = runOp(builtinKernels(), "_GroupNorm", attrsOf(groups, "NHWC"), {x, v, v},
                     std::vector(3, DType::Float32));
    return out ? std::string() : out.error().message;
  };
  EXPECT_EQ(errorOf(2, {0, 3, 4}, 4), "");
  EXPECT_EQ(errorOf(2, {1, 0, 4}, 4), "");
  EXPECT_EQ(errorOf(3, {1, 2, 4}, 4), "4 channels can't be divided into 3 groups");
  EXPECT_EQ(
      errorOf(2, {1, 2, 4}, 3),
      "input 1 must be a vector of 4 elements, one per channel of [1,2,4], but has shape [3]");
  EXPECT_EQ(errorOf(0, {1, 2, 4}, 4), "attribute 'groups' is 0, expected 1 or more");
}

} // namespace
} // namespace treadle
