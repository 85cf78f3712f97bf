// Tests of core counts, CPU quotas and the count of computing threads.
#include "treadle/runtime/Cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

namespace treadle {
namespace {

/// A directory tree of control groups.
class Groups {
public:
  Groups() : mount(testing::TempDir() + "groups") { std::filesystem::remove_all(mount); }
  ~Groups() { std::filesystem::remove_all(mount); }

  Groups &with(const std::string &file, std::string_view text) {
    std::filesystem::path path = mount + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return *this;
  }
  std::optional<double> cores(std::string_view membership) const {
    return coresOfGroups(membership, mount);
  }

private:
  std::string mount;
};

TEST(Cores, SomeAreAvailable) {
  EXPECT_GE(availableCores(), 1);
  std::vector<int> cores = allowedCores();
  EXPECT_LE(availableCores(), std::max<int64_t>(std::ssize(cores), 1));
  EXPECT_TRUE(std::ranges::is_sorted(cores));
}

TEST(Cores, ThatAreNotAllowedAreNamed) {
  std::vector<int> cores = allowedCores();
  EXPECT_TRUE(checkCores(cores));
  EXPECT_TRUE(checkCores({}));
  auto messageOf = [](const std::vector<int> &wrong) {
    Expected<void> checked = checkCores(wrong);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(messageOf({-1}).find("cores has -1, expected cores that this process may use: "), 0U);
  EXPECT_EQ(messageOf({1 << 20}).find("cores has 1048576, expected"), 0U);
  if (!cores.empty())
    EXPECT_EQ(messageOf({cores[0], cores[0]}), str("cores has ", cores[0], " twice"));
}

TEST(Cores, AThreadStaysOnThose) {
  std::vector<int> cores = allowedCores();
  if (cores.empty())
    GTEST_SKIP() << "the system doesn't tell";
  std::vector<int> after;
  std::thread([&] {
    EXPECT_TRUE(pinThisThread({cores.back()}));
    after = allowedCores();
    EXPECT_FALSE(pinThisThread({}));
    EXPECT_FALSE(pinThisThread({-1}));
  }).join();
  EXPECT_EQ(after, std::vector<int>{cores.back()});
  EXPECT_EQ(allowedCores(), cores) << "other threads stay where they are";
}

TEST(Cores, AGroupLimitsThem) {
  Groups groups;
  groups.with("a/b/cpu.max", "150000 100000\n").with("a/cpu.max", "max 100000\n");
  EXPECT_EQ(groups.cores("0::/a/b\n"), 1.5);
  EXPECT_EQ(groups.cores("0::/a\n"), std::nullopt);
  EXPECT_EQ(groups.cores("0::/elsewhere\n"), std::nullopt);
}

TEST(Cores, TheTightestOfTheGroupsAroundCounts) {
  Groups groups;
  groups.with("a/b/cpu.max", "300000 100000\n").with("a/cpu.max", "200000 100000\n");
  EXPECT_EQ(groups.cores("0::/a/b\n"), 2);
  groups.with("cpu.max", "50000 100000\n");
  EXPECT_EQ(groups.cores("0::/a/b\n"), 0.5);
}

TEST(Cores, GroupsOfOldKernelsLimitThem) {
  Groups groups;
  groups.with("cpu,cpuacct/x/cpu.cfs_quota_us", "400000\n")
      .with("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n")
      .with("cpu,cpuacct/y/cpu.cfs_quota_us", "-1\n")
      .with("cpu,cpuacct/y/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(groups.cores("4:memory:/x\n3:cpu,cpuacct:/x\n0::/\n"), 4);
  EXPECT_EQ(groups.cores("3:cpu,cpuacct:/y\n"), std::nullopt);
}

TEST(Cores, WhatIsNoLimitIsNone) {
  Groups groups;
  for (const char *text : {"", "0 100000", "-5 100000", "100000", "100000 0", "1e999 1", "x y"}) {
    groups.with("cpu.max", text);
    EXPECT_EQ(groups.cores("0::/\n"), std::nullopt) << text;
  }
  groups.with("cpu.max", "100000 100000");
  for (const char *membership : {"", "\n\n", "0", "0:", "::"})
    EXPECT_TRUE(!groups.cores(membership) || groups.cores(membership) == 1) << membership;
}

/// Returns the number of computing threads as another thread counts them.
int others(int most) {
  int count = 0;
  std::thread([&] { count = ComputeScope::others(most); }).join();
  return count;
}

TEST(ComputeScope, CountsTheOtherThreads) {
  EXPECT_EQ(others(9), 0);
  ComputeScope here;
  EXPECT_EQ(ComputeScope::others(9), 0) << "this thread is no other";
  EXPECT_EQ(others(9), 1);
  EXPECT_EQ(others(0), 0) << "counted up to that";
  ComputeScope nested;
  EXPECT_EQ(others(9), 1) << "a thread counts once";
}

TEST(ComputeScope, WhoRestsDoesNotCompute) {
  ComputeScope here;
  {
    WaitScope resting;
    EXPECT_EQ(others(9), 0);
    ComputeScope meanwhile; // as a callback would
    EXPECT_EQ(others(9), 1);
  }
  EXPECT_EQ(others(9), 1);
}

TEST(ComputeScope, ManyThreadsComeAndGo) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i)
    threads.emplace_back([] {
      for (int k = 0; k < 100; ++k) {
        ComputeScope here;
        EXPECT_LE(ComputeScope::others(200), 100);
        WaitScope resting;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(others(9), 0);
}

} // namespace
} // namespace treadle
