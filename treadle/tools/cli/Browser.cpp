#include "treadle/tools/cli/Browser.h"

#include <cstdlib>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace treadle::cli {

bool openBrowser(const std::string &address) {
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY") && !std::getenv("BROWSER"))
    return false;
  std::string program = "xdg-open", argument = address;
  char *arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  int status = 1;
  return posix_spawnp(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

} // namespace treadle::cli
