// Confinement of the sandbox process before it reads a model.
#pragma once

#include "treadle/sandbox/FileRules.h"

#include <atomic>
#include <cstdint>

#include <sys/types.h>

namespace treadle::sandbox {

struct Confinement {
  pid_t parent = 0; // the process is killed when this one ends
  FileRules files = {};
  int64_t memory = 0; // bytes for tensors; the program may use more; 0: no limit
  int threads = 1;    // number of threads, whose stacks count separately
};

/// Drops access of this process permanently: open files except standard output and error,
/// environment, session, capabilities, memory beyond the limit, and files, processes and networks
/// that weren't granted. `refused` is as for filterSystemCalls. Returns Landlock's version.
/// FailedPrecondition if the system lacks a required mechanism, or if there are other threads
/// already, which not all mechanisms would cover; the process must then not read a model.
Expected<int> confine(const Confinement &confinement, std::atomic<uint32_t> &refused);

} // namespace treadle::sandbox
