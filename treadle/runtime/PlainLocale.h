// Numbers in texts don't depend on the locale that a process has chosen.
#pragma once

#include <locale.h>

namespace treadle {

/// While one lives, the C library's functions read and write numbers in this thread as C's own
/// locale does: `1.5`, whatever the process has set. For what std::from_chars and to_chars can't
/// do.
class PlainLocale {
public:
  PlainLocale() : before(uselocale(plain())) {}
  ~PlainLocale() { uselocale(before); }
  PlainLocale(const PlainLocale &) = delete;
  PlainLocale &operator=(const PlainLocale &) = delete;

private:
  static locale_t plain() {
    static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
    return locale;
  }

  const locale_t before;
};

} // namespace treadle
