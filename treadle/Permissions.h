// Permissions of ops to access resources outside of the graph.
#pragma once

#include <string>
#include <vector>

namespace treadle {

/// Everything that isn't granted here is denied: an op that requires it fails with
/// PermissionDenied. docs/security.md lists what is always granted, and why.
struct Permissions {
  /// Folders, including all subfolders, and files that ops may read, and that they may write (and
  /// read). Links and `..` can't leave a folder.
  std::vector<std::string> read = {}, write = {};
  /// Whether ops may read the time of day.
  bool clock = false;
};

} // namespace treadle
