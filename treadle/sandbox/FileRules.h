// File access rules, enforced by the kernel's Landlock.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <vector>

namespace treadle::sandbox {

/// Folders with everything below them, and files.
struct FileRules {
  std::vector<std::string> read, write; // `write` implies `read`
};

/// Returns the version of the kernel's Landlock; 0 if it is missing or disabled.
int landlockVersion();

/// Restricts this thread and the threads it starts to these files, permanently. If Landlock
/// supports it, also denies TCP, and signals and abstract sockets of other processes. Missing files
/// can't be read. Returns Landlock's version, or 0 if there is none and nothing was done. NotFound
/// if a path in `write` doesn't exist; FailedPrecondition if the system refuses.
Expected<int> restrictFiles(const FileRules &rules);

} // namespace treadle::sandbox
