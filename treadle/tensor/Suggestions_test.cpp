// Suggestions for unknown names.
#include "treadle/tensor/Suggestions.h"

#include <gtest/gtest.h>

#include <vector>

namespace treadle {
namespace {

std::string suggested(std::string_view name, std::vector<std::string_view> candidates) {
  return didYouMean(name, candidates);
}

TEST(Suggestions, NameTheNearest) {
  EXPECT_EQ(suggested("countre", {"counter", "cost", "other"}), " (did you mean 'counter'?)");
  EXPECT_EQ(suggested("x2", {"x3", "x1", "y"}), " (did you mean 'x1' or 'x3'?)");
  EXPECT_EQ(suggested("x", {"d", "c", "b", "a"}), " (did you mean 'a' or 'b' or 'c'?)");
}

TEST(Suggestions, IgnoreDistantNames) {
  EXPECT_EQ(suggested("inputs", {"probabilities", "abc"}), "");
  EXPECT_EQ(suggested("abcd", {"abcdefg"}), "");
  EXPECT_EQ(suggested("abcdefghi", {"abcdef"}), " (did you mean 'abcdef'?)");
  EXPECT_EQ(suggested("x", {}), "");
}

TEST(Suggestions, KnowScopes) {
  EXPECT_EQ(suggested("kernel", {"model/dense/kernel", "dense/bias"}),
            " (did you mean 'model/dense/kernel'?)");
  EXPECT_EQ(suggested("a/long/scope/kernel", {"kernel"}), " (did you mean 'kernel'?)");
  EXPECT_EQ(suggested("kernel", {"subkernelkernel"}), "");
}

TEST(Suggestions, KnowPartsOfNames) {
  EXPECT_EQ(suggested("ids", {"input_ids", "bids_x"}), " (did you mean 'input_ids'?)");
  EXPECT_EQ(suggested("serving", {"lookup", "serving_default"}),
            " (did you mean 'serving_default'?)");
  EXPECT_EQ(suggested("serving_default", {"serving"}), " (did you mean 'serving'?)");
  EXPECT_EQ(suggested("put", {"input_ids"}), "");
}

} // namespace
} // namespace treadle
