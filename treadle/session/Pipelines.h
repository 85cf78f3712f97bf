// Internal to the folders above: pipelines of passes for what a request asks.
#pragma once

#include "treadle/lowering/Lowering.h"

#include <string>

namespace treadle {

/// The pass that leaves of a graph what a request needs; of its functions too, with `functions`.
std::string pruningTo(const Request &request, bool functions = false);

/// The passes that make loops and conditionals of v1 functional: for one request, or without losing
/// what it doesn't need.
std::string functionalPipeline(const Request &request, bool prunes = true);

/// The same, and clusters outlined into functions.
std::string clusterPipeline(const Request &request, bool prunes = true);

} // namespace treadle
