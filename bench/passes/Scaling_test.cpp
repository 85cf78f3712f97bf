// No pass takes quadratic time on any shape: ten times the nodes, not much more than ten times the
// time. Sizes are small; passes_bench measures large ones.
#include "bench/passes/Measure.h"

#include <gtest/gtest.h>

namespace treadle::bench {
namespace {

constexpr int64_t smallSize = 1'000, largeSize = 8'000;
/// Quadratic time is an excess of six; a busy machine and small caches blur that.
constexpr double limit = 4.5;
/// Below it the time is noise.
constexpr double least = 2e-3;

class Scaling : public testing::TestWithParam<Shape> {};

TEST_P(Scaling, isNoWorseThanNLogN) {
  std::vector<std::string> pipelines = allPasses();
  auto small = measure(GetParam(), smallSize, pipelines, 1);
  auto large = measure(GetParam(), largeSize, pipelines, 1);
  for (size_t i = 0; i < pipelines.size(); ++i) {
    ASSERT_TRUE(small[i] && large[i]) << pipelines[i];
    auto excessOf = [&](double time) {
      return excess(std::max(*small[i], least), smallSize, time, largeSize);
    };
    if (excessOf(*large[i]) < limit)
      continue;
    // It may have been the machine.
    double again = *measure(GetParam(), largeSize, {pipelines[i]}, 3)[0];
    EXPECT_LT(excessOf(again), limit)
        << pipelines[i] << ": " << *small[i] * 1e3 << " ms at " << smallSize << " nodes, "
        << again * 1e3 << " ms at " << largeSize;
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Scaling, testing::ValuesIn(shapes().begin(), shapes().end()),
                         [](const testing::TestParamInfo<Shape> &info) {
                           std::string name = info.param.name;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Scaling, everyPassIsFound) {
  std::vector<std::string> all = allPasses();
  for (const char *name : {"tfg-cse", "tfg-inline", "tfg-default", "tfg-cleanup"})
    EXPECT_NE(std::find(all.begin(), all.end(), name), all.end()) << name;
}

TEST(Scaling, excessIsOneForNLogNAndGrowsForMore) {
  EXPECT_NEAR(excess(1.0, 1024, 2.2, 2048), 1.0, 1e-9);
  EXPECT_GT(excess(1.0, smallSize, 64.0, largeSize), limit);
}

} // namespace
} // namespace treadle::bench
