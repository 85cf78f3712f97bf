#include "treadle/checkpoint/FileAccess.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

namespace treadle {
namespace {

namespace fs = std::filesystem;

/// Resolves a path. Returns nullopt for a dangling link, through which a write would create its
/// target, and for a path that the system would resolve differently.
std::optional<std::string> resolvedPath(const std::string &path) {
  if (path.empty() || path.find('\0') != path.npos)
    return std::nullopt;
  std::error_code error;
  fs::path absolute = fs::absolute(path, error);
  if (error)
    return std::nullopt;
  fs::path place = fs::weakly_canonical(absolute, error);
  if (error || fs::is_symlink(fs::symlink_status(place, error)))
    return std::nullopt;
  std::string text = place.string();
  if (text.size() > 1 && text.ends_with('/'))
    text.pop_back();
  return text;
}

std::vector<std::string> resolvedPaths(const std::vector<std::string> &paths) {
  std::vector<std::string> places;
  for (const std::string &path : paths)
    if (std::optional<std::string> place = resolvedPath(path))
      places.push_back(std::move(*place));
  return places;
}

/// Returns the rest of a resolved path below a folder, with a leading slash; nullopt if it isn't
/// below.
std::optional<std::string_view> below(std::string_view folder, std::string_view place) {
  if (folder == "/")
    return place;
  if (!place.starts_with(folder))
    return std::nullopt;
  std::string_view rest = place.substr(folder.size());
  return rest.empty() || rest.front() == '/' ? std::optional(rest) : std::nullopt;
}

bool isBelow(const std::vector<std::string> &folders, std::string_view place) {
  return std::ranges::any_of(
      folders, [&](const std::string &folder) { return below(folder, place).has_value(); });
}

/// Whether a resolved path is below one of the folders, or begins with one of the prefixes.
bool isIn(const std::vector<std::string> &folders, const std::vector<std::string> &prefixes,
          std::string_view place) {
  auto begins = [&](const std::string &prefix) { return place.starts_with(prefix); };
  return isBelow(folders, place) || std::ranges::any_of(prefixes, begins);
}

Error denied(std::string_view act, std::string_view option, const std::string &path) {
  return permissionDenied(act, " '", path, "' is not allowed; ", option, " ", path, " allows it");
}

} // namespace

FileAccess::FileAccess(const Permissions &granted)
    : readable(resolvedPaths(granted.read)), writable(resolvedPaths(granted.write)) {}

const FileAccess &FileAccess::all() {
  static const FileAccess everything = [] {
    FileAccess made;
    made.isEverything = true;
    return made;
  }();
  return everything;
}

const FileAccess &FileAccess::none() {
  static const FileAccess nothing;
  return nothing;
}

void FileAccess::grantVisible(const std::string &folder) {
  if (std::optional<std::string> place = resolvedPath(folder))
    visible.push_back(std::move(*place));
}

void FileAccess::grantPrefix(const std::string &prefix) {
  fs::path path(prefix);
  std::optional<std::string> folder =
      resolvedPath(path.has_parent_path() ? path.parent_path() : ".");
  if (folder && path.has_filename())
    prefixes.push_back(str(*folder == "/" ? "" : *folder, "/", path.filename().string()));
}

bool FileAccess::isReadable(const std::string &path) const {
  std::optional<std::string> place = resolvedPath(path);
  if (!place)
    return false;
  auto shows = [&](const std::string &folder) {
    std::optional<std::string_view> rest = below(folder, *place);
    return rest && rest->find("/.") == rest->npos;
  };
  return isBelow(readable, *place) || isIn(writable, prefixes, *place) ||
         std::ranges::any_of(visible, shows);
}

Expected<void> FileAccess::mayRead(const std::string &path) const {
  std::error_code ignored;
  if (isEverything || isReadable(path) || !fs::exists(fs::symlink_status(path, ignored)))
    return {};
  return Unexpected(denied("reading", "--allow-read", path));
}

Expected<void> FileAccess::mayList(const std::string &folder) const {
  if (isEverything || isReadable(folder))
    return {};
  return Unexpected(denied("listing", "--allow-read", folder));
}

Expected<void> FileAccess::mayWrite(const std::string &path) const {
  if (isEverything)
    return {};
  std::optional<std::string> place = resolvedPath(path);
  if (place && isIn(writable, prefixes, *place))
    return {};
  return Unexpected(denied("writing", "--allow-write", path));
}

} // namespace treadle
