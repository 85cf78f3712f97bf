// A sandbox's options, from and to those of the session inside of it.
#pragma once

#include "treadle/Sandbox.h"
#include "treadle/Session.h"

namespace treadle::sandbox {

/// What the two kinds of options have in common.
template <typename To, typename From> To converted(const From &options) {
  To made;
  made.permissions = options.permissions;
  made.memory = options.memory;
  made.timeout = options.timeout;
  made.threads = options.threads;
  made.cores = options.cores;
  made.tier = options.tier;
  made.fastMath = options.fastMath;
  made.loopOverlap = options.loopOverlap;
  return made;
}

inline SandboxOptions fromSession(const SessionOptions &options) {
  return converted<SandboxOptions>(options);
}

inline SessionOptions toSession(const SandboxOptions &options) {
  return converted<SessionOptions>(options);
}

} // namespace treadle::sandbox
