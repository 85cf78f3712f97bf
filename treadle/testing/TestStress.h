// Options of stress tests: the number of random programs and the first seed.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace treadle::test {

inline int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

/// Returns TREADLE_STRESS_PROGRAMS if set; otherwise `usually`, or `sanitized` under a sanitizer,
/// which makes each program many times slower.
inline int64_t numPrograms(int64_t usually, int64_t sanitized) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  usually = sanitized;
#else
  static_cast<void>(sanitized);
#endif
  return fromEnvironment("TREADLE_STRESS_PROGRAMS", usually);
}

/// Returns TREADLE_STRESS_SEED, the seed of the first program; the others follow it.
inline unsigned firstSeed() {
  return static_cast<unsigned>(fromEnvironment("TREADLE_STRESS_SEED", 1));
}

} // namespace treadle::test
