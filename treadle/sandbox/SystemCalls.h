// System call filter: an allowlist of calls that computing needs.
#pragma once

#include "treadle/tensor/Error.h"

#include <atomic>
#include <cstdint>
#include <vector>

#include <linux/filter.h>

namespace treadle::sandbox {

/// Optional system calls beyond computing and reading files.
struct SystemCallGrants {
  bool writesFiles = false;
};

/// Returns the BPF filter for this process. Listed calls pass, some only with certain arguments.
/// Calls that no model needs (programs, sockets, other processes' memory and signals, mounts, keys,
/// modules) raise SIGSYS; others fail with EPERM, and those newer than the list with ENOSYS, as on
/// an older kernel.
std::vector<sock_filter> systemCallFilter(SystemCallGrants grants, int32_t process);

/// Applies the filter to all threads of this process, permanently. A call that raises SIGSYS stores
/// its number plus one in `refused`, which must never be freed, and ends the
/// process.
Expected<void> filterSystemCalls(SystemCallGrants grants, std::atomic<uint32_t> &refused);

/// Returns the name of a call that raises SIGSYS, or null for others.
const char *refusedCallName(uint32_t number);

/// Exit status of a process that made such a call.
inline constexpr int refusedStatus = 159;

} // namespace treadle::sandbox
