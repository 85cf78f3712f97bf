// Ctrl-C during a run. Python handles signals only between its own instructions, so a run in C++
// would not notice them.
#pragma once

#include "treadle/python/Errors.h"
#include "treadle/treadle.h"

#include <nanobind/nanobind.h>

#include <functional>

namespace treadle::python {

/// During its lifetime, SIGINT also calls `cancel`, repeatedly. Does nothing on threads other than
/// the main thread, or if the program handles SIGINT itself. Constructed and destroyed with the GIL
/// held.
class InterruptScope {
public:
  explicit InterruptScope(std::function<void()> cancel);
  /// Cancels the session's runs.
  explicit InterruptScope(Session &session) : InterruptScope([&session] { session.cancel(); }) {}
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;

private:
  bool isActive = false;
};

/// Runs `work` without the GIL; Ctrl-C cancels it by `running.cancel()`.
template <typename Running, typename Work> auto interruptibly(Running running, Work work) {
  auto result = [&] {
    InterruptScope interruptible([&running] { running.cancel(); });
    nanobind::gil_scoped_release release;
    return work();
  }();
  if (PyErr_CheckSignals())
    throw nanobind::python_error();
  return orRaise(std::move(result));
}

} // namespace treadle::python
