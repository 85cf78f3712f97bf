// Constants whose elements are stored in a file.
#include "treadle/testing/KernelTest.h"

#include <cstdio>
#include <fstream>

namespace treadle {
namespace {

TEST(FillTest, ConstantInAFile) {
  std::string path = testing::TempDir() + "treadle_constant";
  const float elements[] = {1, 2, 3};
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(elements), 12);
  auto of = [&](std::vector<int64_t> dims, std::string file) {
    AttrMap attrs;
    attrs.set("shape", PartialShape::ranked(std::move(dims)));
    attrs.set("memory_region_name", std::move(file));
    return attrs;
  };
  EXPECT_EQ(values<float>(run1("ImmutableConst", {}, DType::Float32, of({1, 2}, path))),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(errorClassOf("ImmutableConst", {}, {DType::Float32}, of({4}, path)), "InternalError");
  EXPECT_EQ(errorClassOf("ImmutableConst", {}, {DType::Float32}, of({1}, path + "_absent")),
            "NotFoundError");
  std::remove(path.c_str());
}

} // namespace
} // namespace treadle
