#include "treadle/sandbox/ChildProcess.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace treadle::sandbox {
namespace {

/// Environment variables for the dynamic loader and kernel selection; the child clears them before
/// it reads a model. Compiled code isn't cached on disk.
std::vector<std::string> environmentOfChild() {
  std::vector<std::string> kept = {"TREADLE_CACHE_DIR="};
  for (const char *name : {"LD_LIBRARY_PATH", "TREADLE_CPU"})
    if (const char *value = std::getenv(name))
      kept.push_back(str(name, "=", value));
  return kept;
}

std::vector<char *> pointersTo(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Spawn attributes: default signal handlers and a session of its own, so that Ctrl-C goes to the
/// owner only.
class SpawnAttributes {
public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(
        &attributes,
        static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID));
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes); }
  SpawnAttributes(const SpawnAttributes &) = delete;
  SpawnAttributes &operator=(const SpawnAttributes &) = delete;

  posix_spawnattr_t attributes;
};

class SpawnFileActions {
public:
  explicit SpawnFileActions(int file) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, file, ChildProcess::fileOfChild);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&actions, ChildProcess::fileOfChild + 1);
  }
  ~SpawnFileActions() { posix_spawn_file_actions_destroy(&actions); }
  SpawnFileActions(const SpawnFileActions &) = delete;
  SpawnFileActions &operator=(const SpawnFileActions &) = delete;

  posix_spawn_file_actions_t actions;
};

int spawn(const std::string &program, int file, pid_t &process) {
  std::vector<std::string> arguments = {program, ChildProcess::command,
                                        std::to_string(ChildProcess::fileOfChild),
                                        std::to_string(getpid())};
  std::vector<std::string> environment = environmentOfChild();
  SpawnAttributes attributes;
  SpawnFileActions files(file);
  return posix_spawn(&process, program.c_str(), &files.actions, &attributes.attributes,
                     pointersTo(arguments).data(), pointersTo(environment).data());
}

std::string describe(const siginfo_t &info) {
  if (info.si_code == CLD_EXITED)
    return str("exit status ", info.si_status);
  const char *name = sigabbrev_np(info.si_status);
  return str("signal ", info.si_status, " (SIG", name ? name : "?", ")");
}

} // namespace

Expected<void> ChildProcess::start(const std::string &program, int file,
                                   std::function<void()> onEnd) {
  owner = getpid();
  // Blocks all signals in the watcher thread: they are for the caller's threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    watcher = std::thread(
        [this, program, file, onEnd = std::move(onEnd)] { watch(program, file, onEnd); });
  } catch (const std::system_error &error) {
    startError = error.code().value();
    hasStarted = true;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::unique_lock lock(mutex);
  started.wait(lock, [&] { return hasStarted; });
  if (startError)
    return Unexpected(failedPrecondition("the sandbox's program '", program,
                                         "' can't be started: ", std::strerror(startError)));
  return {};
}

void ChildProcess::watch(const std::string &program, int file, const std::function<void()> &onEnd) {
  pid_t made = 0;
  int status = spawn(program, file, made);
  {
    std::lock_guard lock(mutex);
    startError = status;
    process = status == 0 ? made : 0;
    hasStarted = true;
    started.notify_all();
  }
  if (status != 0)
    return;
  waitForEnd();
  ended.store(true, std::memory_order_release);
  onEnd();
}

/// The child stays a zombie until `process` is reset, so that its number can't be reused meanwhile.
void ChildProcess::waitForEnd() {
  siginfo_t info{};
  int status;
  do
    status = waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOWAIT);
  while (status != 0 && errno == EINTR);
  std::lock_guard lock(mutex);
  // Fails if the program ignores SIGCHLD, or reaps all children.
  how = status == 0 ? describe(info)
                    : "unknown exit status, which other code in this process collected";
  if (status == 0)
    waitid(P_PID, static_cast<id_t>(process), &info, WEXITED);
  process = 0;
}

void ChildProcess::kill() {
  std::lock_guard lock(mutex);
  if (process > 0 && isInOwner())
    ::kill(process, SIGKILL);
}

std::string ChildProcess::end() const {
  std::lock_guard lock(mutex);
  return how;
}

bool ChildProcess::isInOwner() const { return owner == getpid(); }

ChildProcess::~ChildProcess() {
  if (!watcher.joinable())
    return;
  if (!isInOwner()) { // after a fork: only the parent has the watcher thread
    watcher.detach();
    return;
  }
  kill();
  watcher.join();
}

} // namespace treadle::sandbox
