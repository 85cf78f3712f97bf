// Internal: what passes are told of the runs that follow, unless the pipeline says it.
#pragma once

#include "treadle/Graph.h"
#include "treadle/lowering/Lowering.h"

#include <set>

namespace treadle {

/// Before pipelines are parsed. Thread-safe.
void registerPassesOnce();

/// A pipeline in which each pass that has an option `keep` is told to keep these nodes as well.
std::string pipelineKeeping(llvm::StringRef pipeline, const std::set<std::string> &nodes);

/// Graph::runPasses for one run, or several of one kind: passes keep the nodes that it names, and
/// those with options `fetches`, `targets` and `feeds` are given the run's, where the pipeline
/// doesn't give them. Passes aren't told of fetches and targets where the graph is a SavedModel,
/// which others may call by its signatures. Names that aren't in the graph are left out.
Expected<Graph> runPassesFor(const Request &run, const Graph &graph, llvm::StringRef pipeline);

} // namespace treadle
