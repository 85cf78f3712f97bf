// The capabilities of a confined process. Each attempt runs in a separate process.
#include "treadle/sandbox/Confinement.h"
#include "treadle/sandbox/SystemCalls.h"
#include "treadle/testing/TestSkips.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

constexpr int notConfined = 200, succeeded = 201;
std::atomic<uint32_t> *refused;

/// Returns the exit status of a process that confines itself and calls `deed`: errno if that
/// returned false.
int statusOf(const FileRules &files, const std::function<bool()> &deed, int64_t memory = 0) {
  pid_t parent = getpid();
  refused->store(0);
  pid_t child = fork();
  if (child == 0) {
    if (!confine({.parent = parent, .files = files, .memory = memory, .threads = 1}, *refused))
      _exit(notConfined);
    errno = 0;
    _exit(deed() ? succeeded : errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

class ConfinementTest : public testing::Test {
protected:
  void SetUp() override {
    SKIP_WITH_SANITIZER();
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    refused = new (page) std::atomic<uint32_t>(0);
    std::filesystem::create_directories(top / "in");
    std::filesystem::create_directories(top / "out");
    std::ofstream(top / "in" / "file") << "inside";
    std::ofstream(top / "secret") << "secret";
    std::filesystem::create_symlink(top / "secret", top / "in" / "link");
  }
  void TearDown() override { std::filesystem::remove_all(top); }

  std::string at(const char *name) const { return (top / name).string(); }
  FileRules reading() const { return {{at("in")}, {}}; }

  const std::filesystem::path top =
      std::filesystem::temp_directory_path() / str("treadle-confinement-", getpid());
};

bool opens(const std::string &path, int flags = O_RDONLY) {
  return open(path.c_str(), flags, 0600) >= 0;
}

template <typename... Args> bool calls(long number, Args... arguments) {
  return syscall(number, arguments...) >= 0;
}

// --- calls that end the process ------------------------------------------------------------------

struct RefusedDeed {
  const char *name;
  bool (*deed)();
};

class RefusedCall : public ConfinementTest, public testing::WithParamInterface<RefusedDeed> {};

TEST_P(RefusedCall, EndsTheProcessAndIsNamed) {
  EXPECT_EQ(statusOf({}, GetParam().deed), refusedStatus);
  ASSERT_GT(refused->load(), 0u);
  EXPECT_STREQ(refusedCallName(refused->load() - 1), GetParam().name);
}

constexpr RefusedDeed refusedDeeds[] = {
    {"execve", [] { return execl("/bin/true", "true", nullptr) == 0; }},
    {"socket", [] { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }},
    {"socketpair", [] { return calls(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, nullptr); }},
    {"connect", [] { return calls(SYS_connect, 1, nullptr, 0); }},
    {"sendto", [] { return calls(SYS_sendto, 1, nullptr, 0, 0, nullptr, 0); }},
    {"kill", [] { return kill(getppid(), SIGTERM) == 0; }},
    {"tgkill", [] { return calls(SYS_tgkill, getppid(), getppid(), SIGTERM); }},
    {"pidfd_open", [] { return calls(SYS_pidfd_open, getppid(), 0); }},
    {"ptrace", [] { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0; }},
    {"process_vm_readv",
     [] { return calls(SYS_process_vm_readv, getppid(), nullptr, 0, nullptr, 0); }},
    {"mount", [] { return calls(SYS_mount, "a", "/", "tmpfs", 0, nullptr); }},
    {"unshare", [] { return unshare(CLONE_NEWUSER) == 0; }},
    {"chroot", [] { return chroot("/tmp") == 0; }},
    {"bpf", [] { return calls(SYS_bpf, 0, nullptr, 0); }},
    {"keyctl", [] { return calls(SYS_keyctl, 0, 0, 0, 0, 0); }},
    {"perf_event_open", [] { return calls(SYS_perf_event_open, nullptr, 0, 0, 0, 0); }},
    {"io_uring_setup", [] { return calls(SYS_io_uring_setup, 1, nullptr); }},
    {"userfaultfd", [] { return calls(SYS_userfaultfd, 0); }},
    {"open_by_handle_at", [] { return calls(SYS_open_by_handle_at, 0, nullptr, 0); }},
};
INSTANTIATE_TEST_SUITE_P(, RefusedCall, testing::ValuesIn(refusedDeeds),
                         [](const auto &info) { return info.param.name; });

// --- calls that fail -----------------------------------------------------------------------------

struct FailingDeed {
  const char *name;
  int error;
  bool (*deed)();
};

class FailingCall : public ConfinementTest, public testing::WithParamInterface<FailingDeed> {};

TEST_P(FailingCall, Fails) { EXPECT_EQ(statusOf({}, GetParam().deed), GetParam().error); }

constexpr FailingDeed failingDeeds[] = {
    {"Fork", EPERM, [] { return fork() >= 0; }},
    {"Vfork", EPERM, [] { return calls(SYS_vfork); }},
    {"Clone3", ENOSYS, [] { return calls(SYS_clone3, nullptr, 0); }},
    {"SocketOfThisMachine", EACCES, [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
    {"SharedMemory", EPERM,
     [] {
       return mmap(nullptr, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
     }},
    {"MemoryFile", EPERM, [] { return calls(SYS_memfd_create, "x", 0); }},
    {"OwnHandlerOfSigsys", EPERM,
     [] {
       struct sigaction action = {};
       return calls(SYS_rt_sigaction, SIGSYS, &action, nullptr, 8);
     }},
    {"HigherLimit", EPERM,
     [] {
       rlimit limits = {1 << 20, 1 << 20};
       return setrlimit(RLIMIT_CORE, &limits) == 0;
     }},
    {"LimitOfAnother", EPERM,
     [] {
       rlimit limits{};
       return prlimit(getppid(), RLIMIT_CORE, nullptr, &limits) == 0;
     }},
    {"CoresOfAnother", EPERM,
     [] {
       cpu_set_t set;
       CPU_ZERO(&set);
       CPU_SET(0, &set);
       return sched_setaffinity(getppid(), sizeof set, &set) == 0;
     }},
    {"TypingIntoTheTerminal", ENOTTY, [] { return ioctl(1, TIOCSTI, "x") == 0; }},
    {"OutlivingItsParent", EPERM, [] { return calls(SYS_prctl, 1, 0, 0, 0, 0); }},
    {"AnotherUser", EPERM, [] { return setuid(1) == 0; }},
    {"ACallThatIsYoungerThanTheList", ENOSYS, [] { return calls(451, 0, 0); }},
    {"ATemporaryFile", EACCES, [] { return opens("/tmp", O_TMPFILE | O_RDWR); }},
    {"TheMemoryOfItsParent", EACCES,
     [] { return opens(str("/proc/", getppid(), "/mem"), O_RDWR); }},
};
INSTANTIATE_TEST_SUITE_P(, FailingCall, testing::ValuesIn(failingDeeds),
                         [](const auto &info) { return info.param.name; });

// --- files ---------------------------------------------------------------------------------------

class FilesTest : public ConfinementTest {
protected:
  void SetUp() override {
    ConfinementTest::SetUp();
    if (landlockVersion() == 0)
      GTEST_SKIP() << "this kernel has no Landlock";
  }
};

TEST_F(FilesTest, GrantedFilesCanBeRead) {
  EXPECT_EQ(statusOf(reading(), [&] { return opens(at("in/file")); }), succeeded);
  EXPECT_EQ(statusOf({{at("secret")}, {}}, [&] { return opens(at("secret")); }), succeeded);
}

TEST_F(FilesTest, OtherFilesCantBeRead) {
  for (const std::string &path : {at("secret"), at("in/../secret"), at("in/link"), at("out"),
                                  std::string("/etc/passwd"), std::string("/proc/self/environ")})
    EXPECT_EQ(statusOf(reading(), [&] { return opens(path); }), EACCES) << path;
}

TEST_F(FilesTest, WritesNeedPermission) {
  for (int flags : {O_WRONLY, O_RDWR, O_WRONLY | O_CREAT, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT})
    EXPECT_EQ(statusOf(reading(), [&] { return opens(at("in/file"), flags); }), EACCES) << flags;
  EXPECT_EQ(statusOf(reading(), [&] { return unlink(at("in/file").c_str()) == 0; }), EPERM);
  EXPECT_EQ(statusOf(reading(), [&] { return mkdir(at("in/new").c_str(), 0700) == 0; }), EPERM);
  EXPECT_EQ(std::filesystem::file_size(at("in/file")), 6u);
}

TEST_F(FilesTest, GrantedFilesCanBeWritten) {
  FileRules rules{{at("in")}, {at("out")}};
  int create = O_WRONLY | O_CREAT;
  EXPECT_EQ(statusOf(rules, [&] { return opens(at("out/new"), create); }), succeeded);
  EXPECT_TRUE(std::filesystem::exists(at("out/new")));
  EXPECT_EQ(statusOf(rules, [&] { return opens(at("in/new"), create); }), EACCES);
  EXPECT_EQ(statusOf(rules, [&] { return opens(at("secret"), O_RDWR); }), EACCES);
  EXPECT_EQ(statusOf(rules, [&] { return opens(at("in/file"), O_RDONLY | O_TRUNC); }), EACCES);
  EXPECT_EQ(
      statusOf(rules, [&] { return link(at("in/file").c_str(), at("out/hard").c_str()) == 0; }),
      EPERM);
}

TEST_F(FilesTest, ToBeWrittenItMustBeThere) {
  EXPECT_EQ(statusOf({{}, {at("not/there")}}, [] { return true; }), notConfined);
}

// --- others --------------------------------------------------------------------------------------

TEST_F(ConfinementTest, ItKeepsThreadsMemoryAndMachineCode) {
  EXPECT_EQ(statusOf({},
                     [] {
                       int sum = 0;
                       std::thread([&] { sum += 2; }).join();
                       constexpr std::array<unsigned char, 6> code = {0xb8, 5, 0, 0, 0, 0xc3};
                       void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                       std::memcpy(page, code.data(), code.size());
                       mprotect(page, 4096, PROT_READ | PROT_EXEC);
                       sum += reinterpret_cast<int (*)()>(page)();
                       return sum == 7;
                     }),
            succeeded);
}

TEST_F(ConfinementTest, ItHasNoEnvironmentAndNoOpenFiles) {
  setenv("SECRET", "42", 1);
  int file = open("/dev/null", O_RDONLY);
  ASSERT_GT(file, 2);
  EXPECT_EQ(statusOf({}, [] { return !getenv("SECRET") && (!environ || !*environ); }), succeeded);
  EXPECT_EQ(statusOf({}, [&] { return fcntl(file, F_GETFD) >= 0; }), EBADF);
  EXPECT_EQ(statusOf({}, [] { return fcntl(2, F_GETFD) >= 0; }), succeeded);
  close(file);
}

TEST_F(ConfinementTest, ItTakesNoMoreMemoryThanAgreed) {
  auto take = [](size_t size) {
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED;
  };
  int64_t agreed = 64 << 20;
  EXPECT_EQ(statusOf({}, [&] { return take(60 << 20); }, agreed), succeeded);
  EXPECT_EQ(statusOf({}, [&] { return take(400 << 20); }, agreed), ENOMEM);
}

/// Pages made read-only after writing no longer count as data, but still as address space.
TEST_F(ConfinementTest, HiddenMemoryIsLimitedAsWell) {
  auto hide = [] {
    constexpr size_t step = 64 << 20;
    for (int i = 0; i < 64; ++i) {
      void *memory =
          mmap(nullptr, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED || mprotect(memory, step, PROT_READ))
        return false;
    }
    return true;
  };
  EXPECT_EQ(statusOf({}, hide, 64 << 20), ENOMEM);
}

TEST_F(ConfinementTest, AProcessWithThreadsIsNotConfined) {
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    std::thread([] { pause(); }).detach();
    Expected<int> outcome = confine({.parent = parent}, *refused);
    _exit(!outcome && outcome.error().message.find("2 threads") != std::string::npos ? succeeded
                                                                                     : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), succeeded);
}

TEST_F(ConfinementTest, AProcessOfAnotherParentIsNotConfined) {
  pid_t child = fork();
  if (child == 0) {
    Expected<int> outcome = confine({.parent = getppid() + 1}, *refused);
    _exit(!outcome && outcome.error().code == Code::Unavailable ? succeeded : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), succeeded);
}

} // namespace
} // namespace treadle::sandbox
