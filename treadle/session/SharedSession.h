// Internal to the folders of the library: sessions for callers that have many of them, or pass
// ownership of their feeds.
#pragma once

#include "treadle/Session.h"

namespace treadle {

/// Like Session::create, but runs use the threads of `pool`, which may be null or shared with
/// others. `options.threads` and `cores` are ignored.
Expected<Session> createSession(Graph graph, SessionOptions options,
                                std::shared_ptr<ThreadPool> pool);

/// Builds the plan of a request, so that its errors are known before a run.
Expected<void> plan(Session &session, const std::vector<std::string> &fetches,
                    const std::vector<std::string> &feeds);

/// Like Session::run, but feeds may be overwritten if `feeds` holds their only reference.
Expected<std::vector<Tensor>> runTaking(Session &session, const std::vector<std::string> &fetches,
                                        Session::Feeds feeds);

} // namespace treadle
