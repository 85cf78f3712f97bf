// Conversion between the options of a sandbox and those of the session inside it.
#pragma once

#include "treadle/Sandbox.h"
#include "treadle/Session.h"

namespace treadle::sandbox {

/// Copies the fields that both types of options share.
template <typename To, typename From> To converted(const From &options) {
  To made;
  made.permissions = options.permissions;
  made.memory = options.memory;
  made.timeout = options.timeout;
  made.threads = options.threads;
  made.cores = options.cores;
  made.tier = options.tier;
  made.fastMath = options.fastMath;
  made.denormals = options.denormals;
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
