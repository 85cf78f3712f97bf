// Internal: adds pass options that describe the intended runs to a pipeline that doesn't set them.
#pragma once

#include "treadle/Graph.h"
#include "treadle/lowering/Lowering.h"

#include <set>

namespace treadle {

/// Must be called before a pipeline is parsed. Thread-safe.
void registerPassesOnce();

/// Returns the pipeline with these nodes added to each pass's `keep` option, if it has one.
std::string pipelineKeeping(llvm::StringRef pipeline, const std::set<std::string> &nodes);

/// Runs Graph::runPasses for one run, or for several runs of one kind: passes keep the nodes that
/// the request names. Passes with options `fetches`, `targets` and `feeds` get the request's unless
/// the pipeline sets them. For a SavedModel, fetches and targets aren't passed on, since callers
/// may run its signatures too. Names that aren't in the graph are ignored.
Expected<Graph> runPassesFor(const Request &run, const Graph &graph, llvm::StringRef pipeline);

} // namespace treadle
