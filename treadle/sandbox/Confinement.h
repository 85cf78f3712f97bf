// What a process gives up before it looks at a model.
#pragma once

#include "treadle/sandbox/FileRules.h"

#include <atomic>
#include <cstdint>

#include <sys/types.h>

namespace treadle::sandbox {

struct Confinement {
  pid_t parent = 0; // who started this process, and whose end is its own
  FileRules files = {};
  int64_t memory = 0; // bytes of values; graphs and compilers may take more; 0: no limit
  int threads = 1;    // whose stacks are beside them
};

/// Takes from this process, for good: what it had open, but for standard output and error; its
/// environment, session and capabilities; more memory than agreed; files, processes and networks
/// beyond those granted. `refused` is as of filterSystemCalls. Returns Landlock's version.
/// FailedPrecondition where the system doesn't do what isn't to be done without, and where there
/// are other threads already, which not all of this would bind; it must not be used for a model
/// then.
Expected<int> confine(const Confinement &confinement, std::atomic<uint32_t> &refused);

} // namespace treadle::sandbox
