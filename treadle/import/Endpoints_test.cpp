// Tests parsing of node inputs.
#include "treadle/import/Endpoints.h"

#include <gtest/gtest.h>

using namespace treadle::graphdef;

namespace {

struct Row {
  const char *text, *node, *output;
  uint64_t index;
  bool isControl, hasIndex, isPlainIndex;
};

TEST(EndpointsTest, PartsOfAnInput) {
  constexpr Row rows[] = {
      {"n", "n", "", 0, false, false, true},
      {"a/b_1", "a/b_1", "", 0, false, false, true},
      {"^n", "n", "", 0, true, false, true},
      {"n:3", "n", "", 3, false, true, true},
      {"n:0", "n", "", 0, false, true, true},
      {"n:03", "n", "", 3, false, true, false},
      {"n:out", "n", "out", 0, false, false, true},
      {"n:out:2", "n", "out", 2, false, true, true},
      {"n:out:", "n", "out:", 0, false, false, true},
      {"", "", "", 0, false, false, true},
      {"n:18446744073709551615", "n", "", UINT64_MAX, false, true, true},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(row.text);
    std::optional<Endpoint> endpoint = parseEndpoint(row.text);
    ASSERT_TRUE(endpoint);
    EXPECT_EQ(endpoint->node, row.node);
    EXPECT_EQ(endpoint->output, row.output);
    EXPECT_EQ(endpoint->index, row.index);
    EXPECT_EQ(endpoint->isControl, row.isControl);
    EXPECT_EQ(endpoint->hasIndex, row.hasIndex);
    EXPECT_EQ(endpoint->isPlainIndex, row.isPlainIndex);
  }
}

TEST(EndpointsTest, AnIndexBeyond64Bits) { EXPECT_FALSE(parseEndpoint("n:18446744073709551616")); }

} // namespace
