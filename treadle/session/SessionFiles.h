// The files that the graph of a session may access.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/treadle.h"

namespace treadle {

/// Combines the granted permissions with reading the files of the model: for a SavedModel those in
/// its folder, for another file those next to it. Folders that don't belong to a model (the root, a
/// home directory, a world-writable folder) grant nothing, and neither do hidden files next to a
/// file.
FileAccess filesFor(const Graph &graph, const Permissions &granted);

/// Whether the folder is shared, so that files next to a model's file may not belong to it.
bool isSharedFolder(const std::string &folder);

/// Returns the files of a session.
const FileAccess &filesOf(const Session &session);
/// Like Session::run, with other files.
Expected<std::vector<Tensor>> runWithFiles(Session &session, const FileAccess &files,
                                           const std::vector<std::string> &fetches,
                                           const Session::Feeds &feeds,
                                           const std::vector<std::string> &targets);

} // namespace treadle
