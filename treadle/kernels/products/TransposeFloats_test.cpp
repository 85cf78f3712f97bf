#include "treadle/kernels/products/TransposeFloats.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace treadle {
namespace {

TEST(TransposeFloats, SwapsRowsAndColumns) {
  for (int64_t width : {0, 1, 7, 16, 17, 40})
    for (int64_t count : {1, 3, 9, 16, 25, 35})
      for (int64_t stride : {count, count + 5, 3 * count}) {
        SCOPED_TRACE(testing::Message() << width << " rows of " << count << " every " << stride);
        // Only as much memory as the rows need.
        std::vector<float> from(static_cast<size_t>(width ? (width - 1) * stride + count : 0));
        std::iota(from.begin(), from.end(), 1.0F);
        std::vector<float> to(static_cast<size_t>(width * count), -1);
        transposeFloats(from.data(), stride, width, count, to.data(),
                        [&](int64_t i) { return i * width; });
        for (int64_t c = 0; c < width; ++c)
          for (int64_t i = 0; i < count; ++i)
            ASSERT_EQ(to[static_cast<size_t>(i * width + c)],
                      from[static_cast<size_t>(c * stride + i)]);
      }
}

} // namespace
} // namespace treadle
