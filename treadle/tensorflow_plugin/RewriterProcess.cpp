// Starts the rewriter with one end of a socket pair as its input and output.
#include "treadle/tensorflow_plugin/RewriterProcess.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace treadle::tensorflow {

/// Number of crashes, each on a different graph, after which no more graphs are sent.
static constexpr int maxCrashes = 20;
/// Timeout for one graph.
static constexpr int secondsPerGraph = 120;

bool isProgram(const std::string &path) { return access(path.c_str(), X_OK) == 0; }

/// Spawns the rewriter with default signal handlers.
static int spawn(const std::string &program, int socket, pid_t &child) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, socket, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  // A separate process group, so that Ctrl-C in a terminal only reaches TensorFlow.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string name = program;
  char *arguments[] = {name.data(), nullptr};
  int status = posix_spawnp(&child, program.c_str(), &files, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return status;
}

bool RewriterProcess::start() {
  if (socket >= 0 && owner == getpid())
    return true;
  stop();
  if (crashes > maxCrashes) {
    failure =
        "the rewriter ended " + std::to_string(crashes) + " times, and won't be started again";
    return false;
  }
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    failure = std::string("can't create a socket for the rewriter: ") + std::strerror(errno);
    return false;
  }
  int status = spawn(program, ends[1], child);
  close(ends[1]);
  if (status != 0) {
    close(ends[0]);
    failure = "program '" + program + "' can't be started (" + std::strerror(status) +
              "); set TREADLE_REWRITER to its path";
    return false;
  }
  timeval patience = {.tv_sec = secondsPerGraph, .tv_usec = 0};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  socket = ends[0];
  owner = getpid();
  return true;
}

void RewriterProcess::stop() {
  if (socket >= 0)
    close(socket);
  // After a fork, the rewriter belongs to the parent.
  if (child > 0 && owner == getpid()) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  socket = -1;
  child = -1;
}

RewriterProcess::Result RewriterProcess::rewrite(Request request) {
  std::lock_guard lock(mutex);
  if (!start())
    return {.error = failure};
  Channel channel(socket, socket);
  std::optional<Message> reply;
  if (channel.send(
          {std::move(request.pipeline), std::move(request.names), std::move(request.graph)}))
    reply = channel.receive();
  if (!reply || reply->size() != 3) {
    ++crashes;
    stop();
    return {.error = "the rewriter ended or timed out on the graph"};
  }
  return {std::move((*reply)[0]), std::move((*reply)[1]), std::move((*reply)[2])};
}

} // namespace treadle::tensorflow
