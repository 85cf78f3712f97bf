#include "treadle/tools/cli/Distributed.h"

#include "treadle/collective/World.h"
#include "treadle/runtime/ValueName.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace treadle::cli {

int rankOfProcess() {
  const char *text = std::getenv("OMPI_COMM_WORLD_RANK");
  int rank = 0;
  if (isStartedByMpi() && text)
    std::from_chars(text, text + std::strlen(text), rank);
  return rank;
}

static std::string option(std::string_view name, const std::vector<std::string> &values) {
  std::string text;
  for (const std::string &value : values)
    text += str(text.empty() ? str(name, "=") : ",", value);
  return text.empty() ? text : text + " ";
}

/// Restricts a SavedModel, whose signatures name nodes of all ranks, to the part that this rank
/// runs.
static Expected<void> partitionModel(Request &request, const Communicator &world) {
  Graph graph = TREADLE_TRY(request.graph.runPasses(
      str("tfg-partition{rank=", world.rank(), " ranks=", world.size(), "}")));
  for (const char *op : {"_Send", "_Recv"})
    if (std::vector<std::string> names = graph.nodeNames(op); !names.empty())
      return Unexpected(unimplemented(
          "'", names.front(),
          "' would connect tasks outside of functions, but the graph of a SavedModel runs on all "
          "processes; place nodes within functions, or run it as a plain graph"));
  request.graph = std::move(graph);
  return {};
}

Expected<void> join(Request &request) {
  if (!isStartedByMpi())
    return {};
  double timeout =
      request.options.timeout > 0 ? request.options.timeout : Communicator::defaultTimeout;
  std::shared_ptr<Communicator> world = TREADLE_TRY(joinWorld(timeout));
  request.options.communicator = world;
  if (!request.graph.isSavedModel())
    return {};
  Expected<void> ok = partitionModel(request, *world);
  if (!ok)
    world->abort(ok.error());
  return ok;
}

Expected<void> distribute(Request &request) {
  const std::shared_ptr<Communicator> &world = request.options.communicator;
  if (!world || request.model)
    return {};
  std::vector<std::string> feeds;
  for (const auto &[name, value] : request.feeds)
    feeds.push_back(name);
  // All ranks partition the same graph: the nodes that the run needs, without v1 loops that cross
  // tasks.
  Expected<Graph> graph = request.graph.runPasses(
      str("tfg-prune{", option("fetches", request.fetches), option("targets", request.targets),
          option("feeds", feeds), "functions=false},tfg-v1-to-functional,tfg-partition{rank=",
          world->rank(), " ranks=", world->size(), " ", option("fetches", request.fetches), "}"));
  if (!graph) {
    world->abort(graph.error());
    return Unexpected(std::move(graph.error()));
  }
  request.graph = std::move(*graph);
  auto isHere = [&](const std::string &name) {
    return request.graph.nodeOp(nodeOf(name)).has_value();
  };
  std::erase_if(request.fetches, [&](const std::string &name) { return !isHere(name); });
  std::erase_if(request.targets, [&](const std::string &name) { return !isHere(name); });
  std::erase_if(request.feeds, [&](const auto &feed) { return !isHere(feed.first); });
  for (const std::string &send : request.graph.nodeNames("_Send"))
    request.targets.push_back(send);
  return {};
}

} // namespace treadle::cli
