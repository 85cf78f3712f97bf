#include "treadle/testing/KernelTest.h"

#include <filesystem>

namespace treadle {
namespace {

class FileOps : public testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("treadle-files-" + std::to_string(reinterpret_cast<uintptr_t>(this)));
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string at(const char *name) const { return (folder / name).string(); }
  void write(const char *name, std::string contents) const {
    runAll("WriteFile", {scalar(at(name)), scalar(std::move(contents))}, {});
  }
  std::filesystem::path folder;
};

TEST_F(FileOps, WritesMakingFoldersAndReadsBack) {
  write("deep/down/a.bin", std::string("\0zero", 5));
  EXPECT_EQ(run1("ReadFile", {scalar(at("deep/down/a.bin"))}).scalarValue<std::string>(),
            std::string("\0zero", 5));
  EXPECT_EQ(errorClassOf("ReadFile", {scalar(at("nothing"))}), "NotFoundError");
  EXPECT_EQ(errorClassOf("ReadFile", {scalar(at("deep"))}), "FailedPreconditionError");
}

TEST_F(FileOps, FindsFilesByPatterns) {
  for (const char *name : {"b.txt", "a.txt", ".hidden.txt", "x/c.txt", "x/c.bin"})
    write(name, "");
  auto match = [&](const std::vector<std::string> &patterns) {
    std::vector<std::string> found;
    for (const std::string &path :
         values<std::string>(run1("MatchingFiles", {vec<std::string>(patterns)})))
      found.push_back(std::filesystem::relative(path, folder).string());
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(match({at("*.txt")}), (Names{".hidden.txt", "a.txt", "b.txt"}));
  EXPECT_EQ(match({at("x/*"), at("[ab].txt")}), (Names{"a.txt", "b.txt", "x/c.bin", "x/c.txt"}));
  EXPECT_EQ(match({at("*/?.txt"), at("a.txt"), at("z.txt")}), (Names{"a.txt", "x/c.txt"}));
}

} // namespace
} // namespace treadle
