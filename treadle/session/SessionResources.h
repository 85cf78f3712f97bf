// Internal: what a session keeps between runs.
#pragma once

#include "treadle/runtime/ResourceManager.h"
#include "treadle/treadle.h"

namespace treadle {

/// The session's variables, queues and tables; there as long as the session is.
ResourceManager &resourcesOf(const Session &session);

/// A session of another graph with the variables, queues, tables, threads, options and trace of
/// this one. Either cancels the runs of both and counts them. It lives as long as this one does:
/// make few.
Expected<Session> sessionSharingState(const Session &session, Graph graph);

} // namespace treadle
