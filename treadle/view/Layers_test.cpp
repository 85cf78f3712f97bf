#include "treadle/view/Layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace treadle::view {
namespace {

TEST(Layers, EachBoxIsBelowWhatItNeeds) {
  std::mt19937 random(7);
  std::vector<LayeredBox> boxes(60, {40, 20});
  std::vector<LayeredEdge> edges;
  for (size_t to = 1; to < boxes.size(); ++to)
    for (int i = 0; i < 2; ++i)
      edges.push_back({random() % to, to, {}});
  auto [width, height] = layer(boxes, edges);
  for (const LayeredEdge &edge : edges) {
    EXPECT_LT(boxes[edge.from].y + 20, boxes[edge.to].y);
    EXPECT_TRUE(std::ranges::is_sorted(edge.points, {}, [](auto point) { return point.second; }));
  }
  for (const LayeredBox &a : boxes) {
    EXPECT_GE(a.x - a.width / 2, -1e-9);
    EXPECT_LE(a.x + a.width / 2, width + 1e-9);
    EXPECT_LE(a.y + a.height / 2, height + 1e-9);
    for (const LayeredBox &b : boxes)
      if (&a < &b && a.y == b.y)
        EXPECT_GE(std::abs(a.x - b.x), 40 + 16 - 1e-6) << "boxes of a layer don't touch";
  }
}

TEST(Layers, AChainIsStraight) {
  std::vector<LayeredBox> boxes(5, {40, 20});
  std::vector<LayeredEdge> edges = {{0, 1, {}}, {1, 2, {}}, {2, 3, {}}, {3, 4, {}}};
  layer(boxes, edges);
  for (const LayeredBox &box : boxes)
    EXPECT_NEAR(box.x, boxes[0].x, 1e-9);
}

TEST(Layers, ACircleEnds) {
  std::vector<LayeredBox> boxes(3, {40, 20});
  std::vector<LayeredEdge> edges = {{0, 1, {}}, {1, 2, {}}, {2, 0, {}}};
  layer(boxes, edges);
  EXPECT_LT(boxes[0].y, boxes[1].y);
  EXPECT_LT(boxes[1].y, boxes[2].y);
}

TEST(Layers, NothingIsNothing) {
  std::vector<LayeredBox> boxes;
  std::vector<LayeredEdge> edges;
  auto [width, height] = layer(boxes, edges);
  EXPECT_EQ(width, 0);
  EXPECT_EQ(height, 0);
}

} // namespace
} // namespace treadle::view
