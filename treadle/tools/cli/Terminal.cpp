#include "treadle/tools/cli/Terminal.h"

#include "treadle/tensor/Error.h"

#include <cstdlib>

#include <unistd.h>

namespace treadle::cli {

Terminal Terminal::ofOutput() {
  Terminal out;
  out.isThere = isatty(STDOUT_FILENO);
  const char *refused = std::getenv("NO_COLOR"), *kind = std::getenv("TERM");
  out.hasColours =
      out.isThere && !(refused && *refused) && kind && std::string_view(kind) != "dumb";
  return out;
}

std::string Terminal::styled(std::string_view code, std::string_view text) const {
  return hasColours ? str("\x1b[", code, "m", text, "\x1b[0m") : std::string(text);
}

} // namespace treadle::cli
