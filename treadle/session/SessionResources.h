// Internal: the resources of a session that persist between runs.
#pragma once

#include "treadle/runtime/ResourceManager.h"
#include "treadle/treadle.h"

namespace treadle {

/// Returns the session's variables, queues and tables, which live as long as the session.
ResourceManager &resourcesOf(const Session &session);

/// Creates a session of another graph that shares the variables, queues, tables, threads, options
/// and trace of this one. Cancelling either session cancels the runs of both, and they are counted
/// together. It lives as long as this one does, so create few.
Expected<Session> sessionSharingState(const Session &session, Graph graph);

} // namespace treadle
