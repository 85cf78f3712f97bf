// Which system calls a process may make: a list of those that computing needs.
#pragma once

#include "treadle/tensor/Error.h"

#include <atomic>
#include <cstdint>
#include <vector>

#include <linux/filter.h>

namespace treadle::sandbox {

/// What is let through beside computing and reading files.
struct SystemCallGrants {
  bool writesFiles = false;
};

/// The program that the kernel runs for each call of this process. Calls of the list go through,
/// some with some arguments only. Those that no model has a use for (programs, sockets, other
/// processes' memory and signals, mounts, keys, modules) raise SIGSYS; others fail with EPERM,
/// those that are younger than the list with ENOSYS, as on an older kernel.
std::vector<sock_filter> systemCallFilter(SystemCallGrants grants, int32_t process);

/// Has the kernel apply it to all threads of this process, for good. Where a call raises SIGSYS,
/// its number is left in `refused`, one up, and the process ends. Must outlive the process.
Expected<void> filterSystemCalls(SystemCallGrants grants, std::atomic<uint32_t> &refused);

/// The name of a call that raises SIGSYS; null for others.
const char *refusedCallName(uint32_t number);

/// The exit status of a process that made such a call.
inline constexpr int refusedStatus = 159;

} // namespace treadle::sandbox
