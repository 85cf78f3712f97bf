// The files that a session's graph may open.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/treadle.h"

namespace treadle {

/// What was granted, and reading what a graph brings: of a SavedModel the files in its folder, of
/// another file those beside it. What is no model's folder (the root, a home, one that everybody
/// may write to) grants nothing, and hidden files beside a file aren't its own.
FileAccess filesFor(const Graph &graph, const Permissions &granted);

/// Whether a model's file lies here among things that aren't the model's.
bool isShared(const std::string &folder);

/// The files of a session.
const FileAccess &filesOf(const Session &session);
/// As Session::run, with other files.
Expected<std::vector<Tensor>> runWithFiles(Session &session, const FileAccess &files,
                                           const std::vector<std::string> &fetches,
                                           const Session::Feeds &feeds,
                                           const std::vector<std::string> &targets);

} // namespace treadle
