#include "treadle/sandbox/Confinement.h"

#include "treadle/sandbox/SystemCalls.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

/// Address space that each thread reserves: its stack, and its heap arena, for which the C library
/// reserves twice the size to align it.
constexpr int64_t reservedPerThread = int64_t{160} << 20;
/// The compile thread and the cancellation thread.
constexpr int threadsOfProgram = 2;
/// For the graph and the compiler.
constexpr uint64_t memoryOfProgram = uint64_t{256} << 20;
constexpr rlim_t maxOpenFiles = 256;

Error failure(const char *what) {
  return failedPrecondition("the sandbox can't be set up: ", what, ": ", std::strerror(errno));
}

Expected<void> checkSingleThreaded() {
  std::error_code error;
  auto threads = std::distance(std::filesystem::directory_iterator("/proc/self/task", error), {});
  if (error)
    return Unexpected(failedPrecondition("the sandbox can't be set up: there is no /proc"));
  if (threads > 1)
    return Unexpected(failedPrecondition("the sandbox can't be set up: the process has ", threads,
                                         " threads before the sandbox starts"));
  return {};
}

Expected<void> limit(__rlimit_resource_t resource, uint64_t most) {
  rlimit now{};
  if (getrlimit(resource, &now))
    return Unexpected(failure("a limit can't be read"));
  rlim_t least = std::min<rlim_t>(most, now.rlim_max);
  rlimit limits = {least, least};
  if (setrlimit(resource, &limits))
    return Unexpected(failure("a limit can't be set"));
  return {};
}

/// The process's current address space and data size in bytes.
struct MemorySizes {
  uint64_t all = 0, data = 0;
};
MemorySizes sizesNow() {
  std::ifstream file("/proc/self/statm");
  uint64_t all = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  file >> all >> resident >> shared >> text >> library >> data;
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return {all * page, data * page};
}

/// Written pages count as data. A malicious process can hide pages from that count, but not from
/// the address space.
Expected<void> limitMemory(int64_t memory, int threads) {
  if (memory <= 0)
    return {};
  MemorySizes now = sizesNow();
  uint64_t more = static_cast<uint64_t>(memory) + memoryOfProgram;
  int64_t reserved = reservedPerThread * (std::max(threads, 1) + threadsOfProgram);
  TREADLE_TRY(limit(RLIMIT_DATA, now.data + more));
  return limit(RLIMIT_AS, now.all + more + static_cast<uint64_t>(reserved));
}

bool isRegularFile(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

Expected<void> limitResources(const Confinement &confinement) {
  TREADLE_TRY(limit(RLIMIT_CORE, 0));
  TREADLE_TRY(limit(RLIMIT_NOFILE, maxOpenFiles));
  TREADLE_TRY(limit(RLIMIT_MEMLOCK, 0));
  TREADLE_TRY(limit(RLIMIT_MSGQUEUE, 0));
  // Standard output and error may be redirected to a file.
  if (confinement.files.write.empty() && !isRegularFile(STDOUT_FILENO) &&
      !isRegularFile(STDERR_FILENO))
    TREADLE_TRY(limit(RLIMIT_FSIZE, 0));
  return limitMemory(confinement.memory, confinement.threads);
}

/// Drops capabilities, also those of root.
Expected<void> dropCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none))
    return Unexpected(failure("capabilities can't be dropped"));
  return {};
}

/// Fails if the parent ended meanwhile, and the process was reparented.
Expected<void> tieToParent(pid_t parent) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL))
    return Unexpected(failure("it can't be set to end with its parent process"));
  if (getppid() != parent)
    return Unexpected(unavailable("the process that started the sandbox has exited"));
  return {};
}

/// Restricts files. Without Landlock no files may be written: nothing else keeps a process from
/// writing another's memory through /proc.
Expected<int> confineFiles(const FileRules &files) {
  int landlock = TREADLE_TRY(restrictFiles(files));
  if (landlock == 0 && !files.write.empty())
    return Unexpected(failedPrecondition("a sandbox that may write files requires a kernel with "
                                         "Landlock, which this one doesn't have"));
  return landlock;
}

} // namespace

Expected<int> confine(const Confinement &confinement, std::atomic<uint32_t> &refused) {
  TREADLE_TRY(checkSingleThreaded());
  if (close_range(STDERR_FILENO + 1, std::numeric_limits<int>::max(), 0))
    return Unexpected(failure("files can't be closed"));
  clearenv();
  setsid(); // fails if it leads a session already
  TREADLE_TRY(limitResources(confinement));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    return Unexpected(failure("privileges can't be dropped"));
  TREADLE_TRY(dropCapabilities());
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
    return Unexpected(failure("its memory can't be protected from other processes"));
  TREADLE_TRY(tieToParent(confinement.parent));
  int landlock = TREADLE_TRY(confineFiles(confinement.files));
  TREADLE_TRY(filterSystemCalls({!confinement.files.write.empty()}, refused));
  return landlock;
}

} // namespace treadle::sandbox
