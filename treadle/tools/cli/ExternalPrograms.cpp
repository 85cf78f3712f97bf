#include "treadle/tools/cli/ExternalPrograms.h"

#include <cstdlib>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace treadle::cli {

bool runProgram(std::vector<std::string> words) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int status = 1;
  return posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

bool openBrowser(const std::string &address) {
  bool isThere = std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY") || std::getenv("BROWSER");
  return isThere && runProgram({"xdg-open", address});
}

} // namespace treadle::cli
