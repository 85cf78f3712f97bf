// Internal to the folders above: pass pipelines for a request.
#pragma once

#include "treadle/lowering/Lowering.h"

#include <string>

namespace treadle {

/// Returns the pass that prunes a graph to a request; with `functions`, its functions too.
std::string pruningTo(const Request &request, bool functions = false);

/// Returns the passes that make v1 loops and conditionals functional: for one request, or, without
/// `prunes`, keeping nodes that it doesn't need.
std::string functionalPipeline(const Request &request, bool prunes = true);

/// Returns the same passes, followed by outlining clusters into functions.
std::string clusterPipeline(const Request &request, bool prunes = true);

} // namespace treadle
