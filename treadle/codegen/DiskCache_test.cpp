// Tests of the disk cache: corrupted, foreign and obstructing files are ignored.
#include "treadle/codegen/DiskCache.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace treadle::codegen {
namespace {

ContentKey keyOf(uint8_t number) {
  ContentKey key{};
  key[0] = number;
  key[31] = 7;
  return key;
}

std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void writeFile(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

class DiskCacheTest : public testing::Test {
protected:
  DiskCacheTest() {
    std::string pattern = (fs::temp_directory_path() / "disk-cache-XXXXXX").string();
    top = mkdtemp(pattern.data());
    folder = top / "new" / "folder";
  }
  ~DiskCacheTest() override { fs::remove_all(top); }

  size_t numFiles() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }

  fs::path top, folder;
};

TEST_F(DiskCacheTest, FindsWhatWasKept) {
  DiskCache cache(folder);
  EXPECT_FALSE(cache.find(keyOf(1)));
  cache.keep(keyOf(1), "code");
  cache.keep(keyOf(2), "");
  EXPECT_EQ(cache.find(keyOf(1)), "code");
  EXPECT_EQ(cache.find(keyOf(2)), "");
  EXPECT_FALSE(cache.find(keyOf(3)));
  EXPECT_EQ(DiskCache(folder).find(keyOf(1)), "code"); // as another process would
  cache.keep(keyOf(1), "code again");
  EXPECT_EQ(cache.find(keyOf(1)), "code again");
  EXPECT_EQ(numFiles(), 2u);
}

TEST_F(DiskCacheTest, OnlyItsOwnerMayReadIt) {
  DiskCache cache(folder);
  cache.keep(keyOf(1), "code");
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(cache.pathOf(keyOf(1))).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(DiskCacheTest, AnyByteThatIsDamagedMakesAFileNothing) {
  DiskCache cache(folder);
  fs::path path = cache.pathOf(keyOf(1));
  cache.keep(keyOf(1), std::string(40, 'x'));
  std::string whole = readFile(path);
  ASSERT_EQ(whole.size(), 88u + 40u);
  for (size_t i = 0; i < whole.size(); ++i)
    for (char flip : {1, 0x40}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      writeFile(path, damaged);
      EXPECT_FALSE(cache.find(keyOf(1))) << "byte " << i;
      EXPECT_FALSE(fs::exists(path)) << "byte " << i;
    }
  writeFile(path, whole);
  EXPECT_TRUE(cache.find(keyOf(1)));
}

TEST_F(DiskCacheTest, AnyOtherLengthMakesAFileNothing) {
  DiskCache cache(folder);
  fs::path path = cache.pathOf(keyOf(1));
  cache.keep(keyOf(1), std::string(40, 'x'));
  std::string whole = readFile(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    writeFile(path, whole.substr(0, size));
    EXPECT_FALSE(cache.find(keyOf(1))) << size << " bytes";
  }
  writeFile(path, whole + "x");
  EXPECT_FALSE(cache.find(keyOf(1)));
}

TEST_F(DiskCacheTest, TheCodeOfAnotherKeyIsNotTaken) {
  DiskCache cache(folder);
  cache.keep(keyOf(1), "code");
  fs::rename(cache.pathOf(keyOf(1)), cache.pathOf(keyOf(2)));
  EXPECT_FALSE(cache.find(keyOf(2)));
}

TEST_F(DiskCacheTest, WhatOthersCanHaveWrittenIsNotTaken) {
  DiskCache cache(folder);
  fs::path path = cache.pathOf(keyOf(1));
  cache.keep(keyOf(1), "code");
  for (fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(path, others, fs::perm_options::add);
    EXPECT_FALSE(cache.find(keyOf(1)));
    EXPECT_TRUE(fs::exists(path)); // nor removed
    fs::permissions(path, others, fs::perm_options::remove);
    EXPECT_TRUE(cache.find(keyOf(1)));
  }
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(cache.find(keyOf(1)));
    EXPECT_TRUE(fs::exists(path));
  }
}

TEST_F(DiskCacheTest, LinksPipesAndFoldersInItsPlaceAreNothing) {
  DiskCache cache(folder);
  fs::path path = cache.pathOf(keyOf(1));
  cache.keep(keyOf(1), "code");
  fs::rename(path, top / "elsewhere");
  fs::create_symlink(top / "elsewhere", path);
  EXPECT_FALSE(cache.find(keyOf(1)));
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(cache.find(keyOf(1)));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_FALSE(cache.find(keyOf(1)));
  cache.keep(keyOf(1), "code");
  EXPECT_FALSE(cache.find(keyOf(1)));
  EXPECT_EQ(numFiles(), 1u); // the temporary file was removed
}

TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenIsNoError) {
  writeFile(top / "file", "");
  for (const fs::path &bad :
       {top / "file", top / "file" / "folder", fs::path("/proc/cache"), fs::path("/dev/null")}) {
    DiskCache cache(bad);
    cache.keep(keyOf(1), "code");
    EXPECT_FALSE(cache.find(keyOf(1))) << bad;
  }
  if (geteuid() == 0)
    return; // permissions don't apply to root
  DiskCache cache(folder);
  cache.keep(keyOf(1), "code");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  cache.keep(keyOf(2), "code");
  EXPECT_TRUE(cache.find(keyOf(1)));
  EXPECT_FALSE(cache.find(keyOf(2)));
  fs::permissions(folder, fs::perms::owner_all);
}

void setAge(const fs::path &path, int seconds) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

TEST_F(DiskCacheTest, ForgetsWhatWasNotUsedForLongest) {
  DiskCache cache(folder, 10'000);
  std::string bytes(912, 'x'); // 1,000 bytes with the header
  for (uint8_t i = 0; i < 10; ++i) {
    cache.keep(keyOf(i), bytes);
    setAge(cache.pathOf(keyOf(i)), 100 - i);
  }
  EXPECT_EQ(numFiles(), 10u);
  EXPECT_TRUE(cache.find(keyOf(0))); // which makes it the newest
  writeFile(folder / "notes.txt", std::string(5000, 'x'));
  cache.keep(keyOf(10), bytes);
  EXPECT_EQ(numFiles(), 8u); // 7 cache files and the foreign one
  EXPECT_TRUE(fs::exists(folder / "notes.txt"));
  for (uint8_t i = 0; i < 11; ++i)
    EXPECT_EQ(cache.find(keyOf(i)).has_value(), i == 0 || i >= 5) << int(i);
}

TEST_F(DiskCacheTest, KeepsNothingThatWouldPushOutAllElse) {
  DiskCache cache(folder, 8'000);
  cache.keep(keyOf(1), std::string(1001, 'x'));
  EXPECT_FALSE(cache.find(keyOf(1)));
}

TEST_F(DiskCacheTest, SweepsWhatWritersLeftBehind) {
  DiskCache cache(folder);
  cache.keep(keyOf(1), "code");
  fs::path left = cache.pathOf(keyOf(2));
  left += ".123.4";
  fs::path inWork = cache.pathOf(keyOf(3));
  inWork += ".123.5";
  writeFile(left, "half of i");
  writeFile(inWork, "half of i");
  setAge(left, 4000);
  DiskCache(folder).keep(keyOf(4), "code"); // a process scans the folder at its first write
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(inWork));
}

std::string bytesFor(uint8_t number) { return std::string(100 + 50 * number, 'a' + number); }

/// Repeatedly writes and reads a few keys in a small cache. Returns whether all contents were
/// right.
bool isConsistent(const DiskCache &cache, unsigned seed) {
  for (unsigned i = 0; i < 300; ++i) {
    auto number = static_cast<uint8_t>((i * 7 + seed) % 13);
    if (i % 3 == 0)
      cache.keep(keyOf(number), bytesFor(number));
    std::optional<std::string> found = cache.find(keyOf(number));
    if (found && *found != bytesFor(number))
      return false;
  }
  return true;
}

TEST_F(DiskCacheTest, ManyProcessesAndThreadsShareAFolder) {
  std::vector<pid_t> children;
  for (unsigned seed = 0; seed < 6; ++seed) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0)
      _exit(isConsistent(DiskCache(folder, 5'000), seed) ? 0 : 1);
    children.push_back(child);
  }
  DiskCache cache(folder, 5'000);
  std::vector<std::thread> threads;
  std::atomic<bool> areConsistent{true};
  for (unsigned seed = 0; seed < 3; ++seed)
    threads.emplace_back([&, seed] {
      if (!isConsistent(cache, seed))
        areConsistent = false;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_TRUE(areConsistent);
  for (pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  for (const fs::directory_entry &entry : fs::directory_iterator(folder))
    EXPECT_TRUE(entry.path().extension() == ".code") << entry.path(); // no temporary file
}

/// Sets environment variables for a test.
class Environment {
public:
  Environment(std::initializer_list<std::pair<const char *, const char *>> wanted) {
    for (const char *name : {"TREADLE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
      const char *value = getenv(name);
      before.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
      unsetenv(name);
    }
    for (auto [name, value] : wanted)
      setenv(name, value, 1);
  }
  ~Environment() {
    for (const auto &[name, value] : before)
      value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }

private:
  std::vector<std::pair<const char *, std::optional<std::string>>> before;
};

TEST(DiskCacheFolder, IsWhereTheEnvironmentWantsIt) {
  auto folder = [](auto... wanted) {
    Environment environment({wanted...});
    return DiskCache::defaultFolder();
  };
  using Pair = std::pair<const char *, const char *>;
  Pair home("HOME", "/home/x"), xdg("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(folder(home), "/home/x/.cache/treadle");
  EXPECT_EQ(folder(home, xdg), "/cache/treadle");
  EXPECT_EQ(folder(home, xdg, Pair("TREADLE_CACHE_DIR", "here")), "here");
  EXPECT_EQ(folder(home, Pair("XDG_CACHE_HOME", "relative")), "/home/x/.cache/treadle");
  EXPECT_EQ(folder(home, Pair("TREADLE_CACHE_DIR", "")), std::nullopt);
  EXPECT_EQ(folder(home, Pair("TREADLE_CACHE_DIR", "off")), std::nullopt);
  EXPECT_EQ(folder(Pair("HOME", "")), std::nullopt);
  EXPECT_EQ(folder(), std::nullopt);
}

} // namespace
} // namespace treadle::codegen
