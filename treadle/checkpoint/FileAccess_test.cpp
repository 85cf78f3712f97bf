#include "treadle/checkpoint/FileAccess.h"

#include "treadle/checkpoint/Files.h"
#include "treadle/testing/TestExpected.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace treadle {
namespace {

namespace fs = std::filesystem;

class FileAccessTest : public testing::Test {
protected:
  void SetUp() override {
    root = fs::temp_directory_path() / str("treadle-access-", getpid());
    fs::create_directories(root / "model" / "inner");
    fs::create_directories(root / "model-2");
    for (const char *name : {"model/a", "model/inner/b", "model/.hidden", "model-2/c", "secret"})
      std::ofstream(root / name) << "text";
    fs::create_symlink(root / "secret", root / "model" / "link");
    fs::create_symlink(root, root / "model" / "up");
    fs::create_symlink(root / "model" / "a", root / "to-a");
    fs::create_symlink(root / "nowhere", root / "model" / "dangling");
  }
  void TearDown() override { fs::remove_all(root); }

  std::string path(const char *name) const { return (root / name).string(); }
  FileAccess reading(const char *name) const {
    return FileAccess(Permissions{.read = {path(name)}});
  }
  FileAccess writing(const char *name) const {
    return FileAccess(Permissions{.write = {path(name)}});
  }

  fs::path root;
};

TEST_F(FileAccessTest, NothingIsGrantedByItself) {
  EXPECT_FAILS(FileAccess::none().mayRead(path("secret")), PermissionDenied, "--allow-read");
  EXPECT_FAILS(FileAccess::none().mayWrite(path("new")), PermissionDenied, "--allow-write");
  EXPECT_FAILS(readWholeFile(path("secret"), FileAccess::none()), PermissionDenied, "secret");
  EXPECT_FAILS(OutputFile::create(path("new"), FileAccess::none()), PermissionDenied, "new");
}

TEST_F(FileAccessTest, AFolderGrantsWhatIsBelow) {
  FileAccess files = reading("model");
  EXPECT_TRUE(files.mayRead(path("model/a")));
  EXPECT_TRUE(files.mayRead(path("model/inner/b")));
  EXPECT_TRUE(files.mayRead(path("model/inner/../a")));
  EXPECT_TRUE(files.mayList(path("model")));
  EXPECT_FAILS(files.mayRead(path("secret")), PermissionDenied, "secret");
  EXPECT_FAILS(files.mayRead(path("model-2/c")), PermissionDenied, "model-2");
  EXPECT_FAILS(files.mayList(path("")), PermissionDenied, "listing");
  EXPECT_FAILS(files.mayWrite(path("model/a")), PermissionDenied, "writing");
}

TEST_F(FileAccessTest, NothingLeadsOut) {
  FileAccess files = reading("model");
  EXPECT_FAILS(files.mayRead(path("model/../secret")), PermissionDenied, "secret");
  EXPECT_FAILS(files.mayRead(path("model/link")), PermissionDenied, "link");
  EXPECT_FAILS(files.mayRead(path("model/up/secret")), PermissionDenied, "secret");
  EXPECT_FAILS(files.mayRead("/proc/self/root" + path("secret")), PermissionDenied, "secret");
  EXPECT_FAILS(writing("model").mayWrite(path("model/dangling")), PermissionDenied, "dangling");
  EXPECT_FAILS(writing("model").mayWrite(path("model/up/new")), PermissionDenied, "new");
  std::string cut = path("model/a") + std::string("\0/../../secret", 14);
  EXPECT_FAILS(writing("model").mayWrite(cut), PermissionDenied, "writing");
}

TEST_F(FileAccessTest, LinksMayLeadIn) {
  EXPECT_TRUE(reading("model").mayRead(path("to-a")));
  EXPECT_TRUE(reading("to-a").mayRead(path("model/a")));
}

TEST_F(FileAccessTest, WhatMayBeWrittenMayBeRead) {
  FileAccess files = writing("model");
  EXPECT_TRUE(files.mayWrite(path("model/new/deep")));
  EXPECT_TRUE(files.mayRead(path("model/a")));
  EXPECT_FAILS(files.mayWrite(path("model-2/c")), PermissionDenied, "--allow-write");
}

TEST_F(FileAccessTest, HiddenFilesAreNotTheModels) {
  FileAccess files;
  files.grantVisible(path("model"));
  EXPECT_TRUE(files.mayRead(path("model/a")));
  EXPECT_FAILS(files.mayRead(path("model/.hidden")), PermissionDenied, ".hidden");
  EXPECT_TRUE(reading("model").mayRead(path("model/.hidden")));
}

TEST_F(FileAccessTest, APrefixGrantsACheckpoint) {
  FileAccess files;
  files.grantPrefix(path("model/a"));
  EXPECT_TRUE(files.mayWrite(path("model/a.index")));
  EXPECT_TRUE(files.mayWrite(path("model/a_temp/part")));
  EXPECT_TRUE(files.mayRead(path("model/a")));
  EXPECT_FAILS(files.mayWrite(path("model/b")), PermissionDenied, "model/b");
  EXPECT_FAILS(files.mayWrite(path("model/a_temp/../b")), PermissionDenied, "b");
}

TEST_F(FileAccessTest, WhatIsNotThereIsToldWhenItIsOpened) {
  EXPECT_FAILS(readWholeFile(path("model/none"), reading("model")), NotFound, "no file");
  EXPECT_FAILS(readWholeFile(path("none"), FileAccess::none()), NotFound, "no file");
  EXPECT_FAILS(FileAccess::none().mayList(path("none")), PermissionDenied, "none");
}

TEST_F(FileAccessTest, WhatIsNoRegularFileIsNotRead) {
  ASSERT_EQ(mkfifo(path("model/pipe").c_str(), 0600), 0);
  EXPECT_FAILS(readWholeFile(path("model/pipe"), reading("model")), InvalidArgument, "regular");
}

} // namespace
} // namespace treadle
