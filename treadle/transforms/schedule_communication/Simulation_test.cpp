// Simulations, compared with results that were computed by hand.
#include "treadle/transforms/schedule_communication/Simulation.h"

#include <gtest/gtest.h>

namespace treadle::tfg {
namespace {

TEST(Simulation, ComputesOneAfterTheOther) {
  Simulation s = simulate({{1, false, {}}, {2, false, {}}, {3, false, {0}}});
  EXPECT_DOUBLE_EQ(s.seconds, 6);
  EXPECT_DOUBLE_EQ(s.tasks[1].begin, 1);
  EXPECT_DOUBLE_EQ(s.tasks[2].begin, 3);
  EXPECT_DOUBLE_EQ(s.compute, 6);
  EXPECT_DOUBLE_EQ(s.hidden, 0);
}

TEST(Simulation, ExchangesRunBesideComputing) {
  // A gradient, its all-reduce, other work, and a user of both.
  Simulation s = simulate({{1, false, {}}, {4, true, {0}}, {3, false, {}}, {1, false, {1, 2}}});
  EXPECT_DOUBLE_EQ(s.tasks[1].begin, 1);
  EXPECT_DOUBLE_EQ(s.tasks[1].end, 5);
  EXPECT_DOUBLE_EQ(s.tasks[2].end, 4);
  EXPECT_DOUBLE_EQ(s.seconds, 6);
  EXPECT_DOUBLE_EQ(s.hidden, 3);
}

TEST(Simulation, OneLinkCarriesOneExchange) {
  Simulation s = simulate({{2, true, {}}, {2, true, {}}});
  EXPECT_DOUBLE_EQ(s.seconds, 4);
}

TEST(Simulation, ExchangesWaitForTheLastRank) {
  std::vector<Task> tasks = {{1, false, {}}, {1, true, {0}}, {1, false, {1}}};
  Simulation even = simulate(tasks, 64), uneven = simulate(tasks, 64, 0.5);
  EXPECT_DOUBLE_EQ(even.seconds, 3);
  EXPECT_GT(uneven.seconds, 3.5);
  EXPECT_LE(uneven.seconds, 4);
  EXPECT_DOUBLE_EQ(simulate(tasks, 64, 0.5).seconds, uneven.seconds);
}

TEST(Simulation, WhatIsOnACycleDoesNotRun) {
  Simulation s = simulate({{1, false, {1}}, {1, false, {0}}, {1, false, {}}});
  EXPECT_DOUBLE_EQ(s.seconds, 1);
}

TEST(Simulation, AThousandRanks) {
  std::vector<Task> tasks;
  for (int32_t i = 0; i < 100; ++i) {
    tasks.push_back({1, false, i ? std::vector<int32_t>{2 * i - 2} : std::vector<int32_t>{}});
    tasks.push_back({0.5, true, {2 * i}});
  }
  Simulation s = simulate(tasks, 1024, 0.2);
  EXPECT_GT(s.seconds, 100);
  EXPECT_LT(s.seconds, 121);
}

} // namespace
} // namespace treadle::tfg
