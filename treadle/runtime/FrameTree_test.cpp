// Tests of the frame of each node, given its inputs, Enters and Exits.
#include "treadle/runtime/FrameTree.h"

#include <gtest/gtest.h>

namespace treadle {
namespace {

TEST(FrameTree, AFrameIsItsNameAndWhereItsEntersStand) {
  FrameTree tree;
  FrameTree::Index outer = tree.enter(FrameTree::outside, "a"), inner = tree.enter(outer, "a");
  EXPECT_NE(outer, inner);
  EXPECT_EQ(tree.enter(FrameTree::outside, "a"), outer);
  EXPECT_EQ(tree.enter(outer, "a"), inner);
  EXPECT_EQ(tree[inner].depth, 2u);
  EXPECT_EQ(tree.exit(inner), outer);
  EXPECT_EQ(tree.exit(outer), FrameTree::outside);
  EXPECT_EQ(tree.exit(FrameTree::outside), FrameTree::outside) << "an Exit of no frame";
}

TEST(FrameTree, ANodeIsInTheInnermostFrameOfItsInputs) {
  FrameTree tree;
  FrameTree::Index a = tree.enter(FrameTree::outside, "a"), b = tree.enter(a, "b");
  FrameTree::Inputs none(tree), same(tree), mixed(tree);
  EXPECT_EQ(none.frame(), FrameTree::outside);
  EXPECT_TRUE(same.add(b) && same.add(b));
  EXPECT_FALSE(same.isMixed());
  EXPECT_EQ(same.frame(), b);
  EXPECT_TRUE(mixed.add(a));
  EXPECT_FALSE(mixed.add(b)) << "from further in";
  EXPECT_FALSE(mixed.add(FrameTree::outside));
  EXPECT_TRUE(mixed.isMixed());
  EXPECT_EQ(mixed.frame(), b);
}

} // namespace
} // namespace treadle
