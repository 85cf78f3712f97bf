#include "treadle/rewriting/DeviceName.h"

#include <gtest/gtest.h>

namespace treadle::tfg {
namespace {

std::string canonical(llvm::StringRef text) {
  std::optional<DeviceName> name = DeviceName::parse(text);
  return name ? name->str() : "none";
}

TEST(DeviceName, ReadsEveryForm) {
  EXPECT_EQ(canonical("/job:worker/replica:0/task:1/device:GPU:2"),
            "/job:worker/replica:0/task:1/device:GPU:2");
  EXPECT_EQ(canonical("/gpu:0"), "/device:GPU:0");
  EXPECT_EQ(canonical("/device:cpu:*"), "/device:CPU:*");
  EXPECT_EQ(canonical("/job:ps"), "/job:ps");
  EXPECT_EQ(canonical(""), "");
}

TEST(DeviceName, RefusesWhatIsNoName) {
  for (const char *text : {"gpu:0", "/job:", "/task:one", "/gpu:-1", "/job:a//task:0"})
    EXPECT_EQ(canonical(text), "none") << text;
}

TEST(DeviceName, FillsTypeAndNumberTogether) {
  DeviceName body = *DeviceName::parse("/GPU:1"), bare = *DeviceName::parse("/task:3");
  DeviceName call = *DeviceName::parse("/job:a/task:0/device:CPU:7");
  body.fillFrom(call);
  bare.fillFrom(call);
  EXPECT_EQ(body.str(), "/job:a/task:0/device:GPU:1");
  EXPECT_EQ(bare.str(), "/job:a/task:3/device:CPU:7");
}

TEST(DeviceName, AgreesWhereNothingContradicts) {
  DeviceName gpu = *DeviceName::parse("/gpu:*");
  EXPECT_TRUE(gpu.agreesWith(*DeviceName::parse("/job:a/gpu:3")));
  EXPECT_FALSE(gpu.agreesWith(*DeviceName::parse("/cpu:0")));
}

} // namespace
} // namespace treadle::tfg
