// For tests that try random programs: how many, and which.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace treadle::test {

inline int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

/// As many as TREADLE_STRESS_PROGRAMS says. Else `usually`, or, where a sanitizer makes each of
/// them many times slower, `sanitized`.
inline int64_t numPrograms(int64_t usually, int64_t sanitized) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  usually = sanitized;
#else
  static_cast<void>(sanitized);
#endif
  return fromEnvironment("TREADLE_STRESS_PROGRAMS", usually);
}

/// The seed of the first program, TREADLE_STRESS_SEED; the others follow it.
inline unsigned firstSeed() {
  return static_cast<unsigned>(fromEnvironment("TREADLE_STRESS_SEED", 1));
}

} // namespace treadle::test
