// Internal: what a session keeps between runs.
#pragma once

#include "treadle/runtime/ResourceManager.h"
#include "treadle/treadle.h"

namespace treadle {

/// The session's variables, queues and tables; there as long as the session is.
ResourceManager &resourcesOf(const Session &session);

} // namespace treadle
