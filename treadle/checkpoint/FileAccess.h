// File permissions: unrestricted for the caller's own paths, granted paths for a graph's.
#pragma once

#include "treadle/Permissions.h"
#include "treadle/tensor/Error.h"

#include <string>
#include <vector>

namespace treadle {

/// Decides whether a file may be opened. Paths are compared after links and `..` are resolved.
/// Thread-safe.
class FileAccess {
public:
  /// Grants nothing.
  FileAccess() = default;
  /// Grants these files, and folders with everything below them. They need not exist.
  explicit FileAccess(const Permissions &granted);
  /// Grants everything: for paths that come from the caller, not from a graph.
  static const FileAccess &all();
  static const FileAccess &none();

  /// Grants reading everything below a folder, except hidden files and folders (`.ssh`).
  void grantVisible(const std::string &folder);
  /// Grants reading and writing files whose path begins with `prefix`: the files of a checkpoint.
  void grantPrefix(const std::string &prefix);

  /// Returns PermissionDenied, naming the option that grants access. Missing files are allowed:
  /// opening them fails.
  Expected<void> mayRead(const std::string &path) const;
  Expected<void> mayWrite(const std::string &path) const;
  /// For ops that list files. Unlike mayRead, denies access to folders that don't exist.
  Expected<void> mayList(const std::string &folder) const;

private:
  bool isReadable(const std::string &path) const;

  bool isEverything = false;
  std::vector<std::string> readable, visible, writable, prefixes; // resolved paths
};

} // namespace treadle
