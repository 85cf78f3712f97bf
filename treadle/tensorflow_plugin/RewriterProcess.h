// The rewriter process, as seen by the plug-in: a child process that is started when needed, and
// again after it has ended.
#pragma once

#include "treadle/tensorflow_plugin/Channel.h"

#include <mutex>
#include <string>

#include <sys/types.h>

namespace treadle::tensorflow {

bool isProgram(const std::string &path);

/// Thread-safe: handles one graph at a time. A forked child gets its own rewriter. The rewriter
/// ends with its input, at the latest when this process ends.
class RewriterProcess {
public:
  struct Request {
    std::string pipeline, names, graph;
  };
  struct Result {
    std::string error = {}; // empty on success
    std::string graph = {};
    std::string summary = {}; // for the log
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
