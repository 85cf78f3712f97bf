// A sandbox's options, from and to those of the session inside of it.
#pragma once

#include "treadle/Sandbox.h"
#include "treadle/Session.h"

namespace treadle::sandbox {

inline SandboxOptions fromSession(const SessionOptions &options) {
  SandboxOptions of;
  of.permissions = options.permissions;
  of.memory = options.memory;
  of.timeout = options.timeout;
  of.threads = options.threads;
  of.cores = options.cores;
  of.tier = options.tier;
  of.fastMath = options.fastMath;
  of.loopOverlap = options.loopOverlap;
  return of;
}

inline SessionOptions toSession(const SandboxOptions &options) {
  SessionOptions of;
  of.permissions = options.permissions;
  of.memory = options.memory;
  of.timeout = options.timeout;
  of.threads = options.threads;
  of.cores = options.cores;
  of.tier = options.tier;
  of.fastMath = options.fastMath;
  of.loopOverlap = options.loopOverlap;
  return of;
}

} // namespace treadle::sandbox
