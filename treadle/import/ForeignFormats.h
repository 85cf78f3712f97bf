// Files that people take for graphs: what they are, and what to do with them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace treadle {

/// `a Keras model (.keras); expected ...`, with the likely fix: for content that is of no format
/// that can be read, told by its first and last bytes, or else by the extension of `path` (which
/// may be empty). nullopt if it looks like nothing that is known.
std::optional<std::string> foreignFormat(std::string_view path, std::string_view content);

/// The same of a folder without a graph, by the names in it: ` (did you mean 'folder/1'?)`, or
/// `; it holds ...`. Empty if there is nothing to say.
std::string foreignFolder(const std::string &folder);

} // namespace treadle
