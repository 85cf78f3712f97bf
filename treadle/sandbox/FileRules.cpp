#include "treadle/sandbox/FileRules.h"

#include <cerrno>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

// The kernel's interface (linux/landlock.h), declared here since the header may be older than the
// kernel. The system call numbers are the same on all architectures.
constexpr long createRuleset = 444, addRule = 445, restrictSelf = 446;
constexpr uint32_t askVersion = 1;
constexpr int belowPath = 1;

constexpr uint64_t writeFile = 1 << 1, readFile = 1 << 2, readFolder = 1 << 3,
                   removeFolder = 1 << 4, removeFile = 1 << 5, makeFolder = 1 << 7,
                   makeFile = 1 << 8, refer = 1 << 13, truncateFile = 1 << 14;
constexpr uint64_t reading = readFile | readFolder;
constexpr uint64_t writing =
    writeFile | removeFolder | removeFile | makeFolder | makeFile | refer | truncateFile;
/// The rights that apply to files that aren't folders.
constexpr uint64_t ofFiles = readFile | writeFile | truncateFile;

struct Ruleset {
  uint64_t files, network, scopes;
};
struct [[gnu::packed]] PathRule {
  uint64_t files;
  int32_t parent;
};

/// All access that a version can restrict; it is denied unless a rule grants it.
Ruleset allRightsOf(int version) {
  Ruleset all{};
  int numFileRights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  all.files = (uint64_t{1} << numFileRights) - 1;
  all.network = version >= 4 ? 3 : 0; // bind, connect
  all.scopes = version >= 6 ? 3 : 0;  // abstract sockets, signals
  return all;
}

size_t sizeOf(int version) {
  return version >= 6 ? sizeof(Ruleset) : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

struct File {
  int number;
  explicit File(int number) : number(number) {}
  ~File() {
    if (number >= 0)
      close(number);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;
};

Error failure(const std::string &what) {
  return failedPrecondition("the sandbox can't be set up: ", what, ": ", std::strerror(errno));
}

Expected<void> grant(int rules, const std::string &path, uint64_t rights) {
  File file(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (file.number < 0 || fstat(file.number, &status))
    return Unexpected(failure(str("'", path, "' can't be granted")));
  if (!S_ISDIR(status.st_mode))
    rights &= ofFiles;
  PathRule rule{rights, file.number};
  if (syscall(addRule, rules, belowPath, &rule, 0))
    return Unexpected(failure(str("Landlock rejects '", path, "'")));
  return {};
}

Expected<void> addRules(int rules, const FileRules &granted, uint64_t known) {
  for (const std::string &path : granted.read)
    if (access(path.c_str(), F_OK) == 0)
      TREADLE_TRY(grant(rules, path, reading & known));
  for (const std::string &path : granted.write) {
    if (access(path.c_str(), F_OK))
      return Unexpected(notFound("'", path,
                                 "' doesn't exist, and a sandbox can grant access to existing "
                                 "files only; create it first, or grant its folder"));
    TREADLE_TRY(grant(rules, path, (reading | writing) & known));
  }
  return {};
}

} // namespace

int landlockVersion() {
  long version = syscall(createRuleset, nullptr, 0, askVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

Expected<int> restrictFiles(const FileRules &granted) {
  int version = landlockVersion();
  if (version == 0)
    return 0;
  Ruleset all = allRightsOf(version);
  File rules(static_cast<int>(syscall(createRuleset, &all, sizeOf(version), 0)));
  if (rules.number < 0)
    return Unexpected(failure("Landlock rules can't be created"));
  TREADLE_TRY(addRules(rules.number, granted, all.files));
  if (syscall(restrictSelf, rules.number, 0))
    return Unexpected(failure("Landlock rules can't be applied"));
  return version;
}

} // namespace treadle::sandbox
