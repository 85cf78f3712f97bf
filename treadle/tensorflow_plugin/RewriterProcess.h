// The rewriter as the plug-in sees it: a child process, started when first needed and again when it
// is gone.
#pragma once

#include "treadle/tensorflow_plugin/Channel.h"

#include <mutex>
#include <string>

#include <sys/types.h>

namespace treadle::tensorflow {

bool isProgram(const std::string &path);

/// Thread-safe: one graph at a time. A child of fork gets a rewriter of its own. The rewriter ends
/// when its input does, with this process at the latest.
class RewriterProcess {
public:
  struct Request {
    std::string pipeline, names, graph;
  };
  struct Result {
    std::string error = {}; // empty: it worked
    std::string graph = {};
    std::string summary = {}; // a line for people
  };

  explicit RewriterProcess(std::string program) : program(std::move(program)) {}
  ~RewriterProcess() { stop(); }
  RewriterProcess(const RewriterProcess &) = delete;
  RewriterProcess &operator=(const RewriterProcess &) = delete;

  Result rewrite(Request request);

private:
  bool start();
  void stop();

  const std::string program;
  std::mutex mutex;
  int socket = -1;
  pid_t child = -1, owner = -1;
  int crashes = 0;
  std::string failure;
};

} // namespace treadle::tensorflow
