// Which files a process may reach, as the kernel's Landlock guards them.
#pragma once

#include "treadle/tensor/Error.h"

#include <string>
#include <vector>

namespace treadle::sandbox {

/// Folders, with all that lies below them, and files.
struct FileRules {
  std::vector<std::string> read, write; // what may be written may be read, too
};

/// The version of the kernel's Landlock; 0 where it has none, or doesn't use it.
int landlockVersion();

/// Lets this thread, and those that it starts, reach these files and no others, for good; no TCP
/// either, nor signals and abstract sockets of others, where Landlock knows of them. What doesn't
/// exist may not be read. Returns Landlock's version, 0 if there is none and nothing was done.
/// NotFound for something to be written that doesn't exist; FailedPrecondition where the system
/// refuses.
Expected<int> restrictFiles(const FileRules &rules);

} // namespace treadle::sandbox
