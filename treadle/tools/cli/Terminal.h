// Text for a terminal, and for programs that read a pipe.
#pragma once

#include <string>
#include <string_view>

namespace treadle::cli {

/// Properties of standard output: on a terminal, text may be coloured and shortened.
struct Terminal {
  static Terminal ofOutput();

  bool isThere = false;
  bool hasColours = false; // false if NO_COLOR is set, or on a dumb terminal

  std::string bold(std::string_view text) const { return styled("1", text); }
  std::string faint(std::string_view text) const { return styled("2", text); }
  std::string loop(std::string_view text) const { return styled("35", text); }
  std::string op(std::string_view text) const { return styled("36", text); }

private:
  std::string styled(std::string_view code, std::string_view text) const;
};

} // namespace treadle::cli
