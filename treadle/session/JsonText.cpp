#include "treadle/session/JsonText.h"

#include <cstdio>

namespace treadle {

std::string jsonText(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    char escape[8];
    if (c == '"' || c == '\\')
      out += {'\\', static_cast<char>(c)};
    else if (c < 32) {
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else
      out += static_cast<char>(c);
  }
  return out + '"';
}

} // namespace treadle
