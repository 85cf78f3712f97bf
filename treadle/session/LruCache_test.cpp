#include "treadle/session/LruCache.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

using Cache = LruCache<int, int>;

std::shared_ptr<const int> number(int value) { return std::make_shared<const int>(value); }

TEST(LruCache, dropsWhatHasNotBeenUsedForLongest) {
  Cache cache(/*maxBytes=*/30);
  for (int key : {1, 2, 3})
    cache.add(key, number(key), 10);
  EXPECT_EQ(*cache.find(1), 1);
  cache.add(4, number(4), 10);
  EXPECT_EQ(cache.find(2), nullptr);
  for (int key : {1, 3, 4})
    EXPECT_NE(cache.find(key), nullptr) << key;
}

TEST(LruCache, keepsTheLatestEvenIfItIsTooLarge) {
  Cache cache(/*maxBytes=*/30);
  cache.add(1, number(1), 10);
  cache.add(2, number(2), 100);
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_NE(cache.find(2), nullptr);
  cache.add(3, number(3), 10);
  EXPECT_EQ(cache.find(2), nullptr);
}

TEST(LruCache, keepsTheFirstOfTwoValuesWithOneKey) {
  Cache cache(/*maxBytes=*/30);
  cache.add(1, number(5), 10);
  EXPECT_EQ(*cache.add(1, number(6), 10), 5);
}

TEST(LruCache, holdersKeepWhatIsDropped) {
  Cache cache(/*maxBytes=*/10);
  std::weak_ptr<const int> watched;
  {
    auto held = cache.add(1, number(1), 10);
    watched = held;
    cache.add(2, number(2), 10);
    EXPECT_EQ(*held, 1);
  }
  EXPECT_TRUE(watched.expired());
}

} // namespace
} // namespace treadle
