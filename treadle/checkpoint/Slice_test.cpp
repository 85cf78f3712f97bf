// Slices of tensors: parsing, and the order of keys.
#include "treadle/checkpoint/Slice.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

std::string errorOf(std::string_view text) {
  Expected<ShapeAndSlice> parsed = ShapeAndSlice::parse(text);
  return parsed ? "" : parsed.error().message;
}

TEST(Slice, ReadsAShapeWithASlice) {
  ShapeAndSlice parsed = *ShapeAndSlice::parse("10 20 30 0,5:-:7,1");
  EXPECT_EQ(parsed.dims, (std::vector<int64_t>{10, 20, 30}));
  EXPECT_EQ(parsed.sliceDims, (std::vector<int64_t>{5, 20, 1}));
  EXPECT_EQ(parsed.slice.text(), "0,5:-:7,1");
  EXPECT_TRUE(ShapeAndSlice::parse("")->dims.empty());
}

TEST(Slice, ErrorsSayWhatIsWrong) {
  EXPECT_NE(errorOf("10 x 0,5:-").find("'x' is not a dimension"), std::string::npos);
  EXPECT_NE(errorOf("10 0,5,1").find("expected START,LENGTH"), std::string::npos);
  EXPECT_NE(errorOf("10 0,-5").find("expected START,LENGTH"), std::string::npos);
  EXPECT_NE(errorOf("10 6,5").find("beyond dimension 0"), std::string::npos);
  EXPECT_NE(errorOf("10 9223372036854775807,9").find("beyond"), std::string::npos);
  EXPECT_NE(errorOf("10 20 -").find("has 1 dimensions"), std::string::npos);
}

TEST(Slice, KeysSortAsTheirSlicesDo) {
  std::string last;
  for (int64_t start : {0, 1, 63, 64, 65, 127, 128, 8191, 8192, 1 << 20, INT32_MAX}) {
    std::string key = sliceKey("a", {{{start, 1}}});
    EXPECT_LT(last, key) << start;
    last = std::move(key);
  }
  EXPECT_LT(sliceKey("a", {{{0, -1}}}), sliceKey("a", {{{0, 0}}}));
  EXPECT_LT(sliceKey("a", {{{9, 9}}}), sliceKey(std::string("a\0", 2), {{{0, 0}}}));
}

TEST(Slice, KeysHaveTheFormatsBytes) {
  using namespace std::string_literals;
  EXPECT_EQ(sliceKey("w", {{{0, -1}, {64, 5}}}), "\0w\0\1\1\2\x80\x7f\xc0\x40\x85"s);
  EXPECT_EQ(sliceKey("\0\xff"s, {}), "\0\0\xff\xff\0\0\1\0"s);
}

} // namespace
} // namespace treadle
