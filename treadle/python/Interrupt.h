// Ctrl-C during a run: Python looks at signals only between its own instructions, so a run in C++
// would not see them.
#pragma once

#include "treadle/treadle.h"

namespace treadle::python {

/// While it lives, SIGINT also cancels the session's runs. Does nothing on other threads than the
/// main one, or where the program handles SIGINT itself. Made and destroyed with the GIL held.
class InterruptScope {
public:
  explicit InterruptScope(Session &session);
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;

private:
  bool isActive = false;
};

} // namespace treadle::python
