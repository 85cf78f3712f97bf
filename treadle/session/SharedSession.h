// Internal to the folders that make up the library: sessions for those who have many of them, and
// who hand over what they feed.
#pragma once

#include "treadle/Session.h"

namespace treadle {

/// As Session::create, but its runs use the threads of `pool`, which may be null, and which others
/// use, too. `options.threads` and `cores` mean nothing then.
Expected<Session> createSession(Graph graph, SessionOptions options,
                                std::shared_ptr<ThreadPool> pool);

/// Makes the plan of a request, so that what can't be run is known before it is.
Expected<void> plan(Session &session, const std::vector<std::string> &fetches,
                    const std::vector<std::string> &feeds);

/// As Session::run; what nobody but `feeds` has may be overwritten.
Expected<std::vector<Tensor>> runTaking(Session &session, const std::vector<std::string> &fetches,
                                        Session::Feeds feeds);

} // namespace treadle
