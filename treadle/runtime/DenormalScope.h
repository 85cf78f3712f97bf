// How a thread's arithmetic treats denormal numbers.
#pragma once

#include "treadle/runtime/Denormals.h"

#include <cstdint>
#include <functional>

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace treadle {

/// A scope in which the thread's arithmetic flushes denormal numbers to zero, as operands and as
/// results, or keeps them. Restores the thread's floating-point control register at its end. Has no
/// effect on processors other than x86-64 and AArch64.
class DenormalScope {
public:
  explicit DenormalScope(Denormals mode) : before(control()) {
    uint64_t wanted = mode == Denormals::Flush ? before | flushBits : before & ~flushBits;
    if (wanted != before)
      setControl(wanted);
  }
  ~DenormalScope() { setControl(before); }
  DenormalScope(const DenormalScope &) = delete;
  DenormalScope &operator=(const DenormalScope &) = delete;

  /// The mode of the calling thread.
  static Denormals current() {
    return (control() & flushBits) == flushBits ? Denormals::Flush : Denormals::Keep;
  }

private:
#if defined(__x86_64__)
  static constexpr uint64_t flushBits = 0x8040; // flush to zero, denormals are zero
  static uint64_t control() { return _mm_getcsr(); }
  static void setControl(uint64_t value) { _mm_setcsr(static_cast<uint32_t>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t flushBits = 1U << 24; // FZ: operands and results
  static uint64_t control() {
    uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void setControl(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
#else
  static constexpr uint64_t flushBits = 0;
  static uint64_t control() { return 0; }
  static void setControl(uint64_t) {}
#endif

  const uint64_t before;
};

/// Returns a task that runs in the mode that the calling thread has now.
std::function<void()> inModeOfCaller(std::function<void()> task);

} // namespace treadle
