// Recognizes files that aren't graphs, and suggests what to do with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// Returns a description with the likely fix, such as `a Keras model (.keras); expected ...`, for
/// content of an unsupported format. The format is recognized by its first and last bytes,
/// otherwise by the extension of `path` (which may be empty). Returns nullopt for unknown content.
std::optional<std::string> foreignFormat(std::string_view path, std::string_view content);

/// Like `foreignFormat`, but for a folder without a graph, by its entries: ` (did you mean
/// 'folder/1'?)`, or `; it holds ...`. Empty if there is nothing to report.
std::string foreignFolder(const std::string &folder);

} // namespace treadle
