// Makes number formatting independent of the process's locale.
#pragma once

#include <locale.h>

namespace treadle {

/// A scope in which the C library reads and writes numbers of this thread in the C locale (`1.5`).
/// Used where std::from_chars and std::to_chars don't suffice.
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
