// What a graph may reach beside its values.
#pragma once

#include <string>
#include <vector>

namespace treadle {

/// Everything that isn't granted here is denied: an op that asks for it fails with
/// PermissionDenied. docs/security.md says what is granted in any case, and why.
struct Permissions {
  /// Folders, with all that lies below them, and files: what ops may read, and what they may write,
  /// which they may read too. Neither links nor `..` lead out of a folder.
  std::vector<std::string> read = {}, write = {};
  /// Whether ops may ask for the time of day.
  bool clock = false;
};

} // namespace treadle
