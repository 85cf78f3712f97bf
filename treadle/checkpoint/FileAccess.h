// Which files may be opened: those of one's own code, or those that a graph was granted.
#pragma once

#include "treadle/Permissions.h"
#include "treadle/tensor/Error.h"

#include <string>
#include <vector>

namespace treadle {

/// Asked before any file is opened. A path counts as the place where it leads once links and `..`
/// are followed. Thread-safe.
class FileAccess {
public:
  /// Nothing.
  FileAccess() = default;
  /// What lies below these folders, and these files. They need not exist.
  explicit FileAccess(const Permissions &granted);
  /// Everything: for what the caller names, not a graph.
  static const FileAccess &all();
  static const FileAccess &none();

  /// Grants reading what lies below a folder, but for what is hidden (`.ssh`).
  void grantVisible(const std::string &folder);
  /// Grants reading and writing files whose path begins with `prefix`: those of a checkpoint.
  void grantPrefix(const std::string &prefix);

  /// PermissionDenied, naming the option that would grant it. A file that doesn't exist may be
  /// read: opening it tells so.
  Expected<void> mayRead(const std::string &path) const;
  Expected<void> mayWrite(const std::string &path) const;
  /// PermissionDenied also for a folder that doesn't exist: for ops that give what they find.
  Expected<void> mayList(const std::string &folder) const;

private:
  bool isReadable(const std::string &path) const;

  bool isEverything = false;
  std::vector<std::string> readable, visible, writable, prefixes; // as paths lead
};

} // namespace treadle
