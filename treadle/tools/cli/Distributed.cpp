#include "treadle/tools/cli/Distributed.h"

#include "treadle/collective/World.h"

#include <algorithm>
#include <cstdlib>

namespace treadle::cli {

int rankOfProcess() {
  const char *rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return isStartedByMpi() && rank ? std::atoi(rank) : 0;
}

static std::string option(std::string_view name, const std::vector<std::string> &values) {
  std::string text;
  for (const std::string &value : values)
    text += str(text.empty() ? str(name, "=") : ",", value);
  return text.empty() ? text : text + " ";
}

static std::string nodeOf(const std::string &value) { return value.substr(0, value.find(':')); }

Expected<void> distribute(Request &request) {
  if (!isStartedByMpi())
    return {};
  if (request.signature)
    return Unexpected(unimplemented(
        "signatures of SavedModels can't be run by several processes; use --fetch and --input"));
  double timeout =
      request.options.timeout > 0 ? request.options.timeout : Communicator::defaultTimeout;
  Expected<std::shared_ptr<Communicator>> world = joinWorld(timeout);
  if (!world)
    return Unexpected(std::move(world.error()));
  request.options.communicator = *world;
  std::vector<std::string> feeds;
  for (const auto &[name, value] : request.feeds)
    feeds.push_back(name);
  // All ranks cut the same graph: what a run needs, and no v1 loops that cross tasks.
  Expected<Graph> graph = request.graph.runPasses(
      str("tfg-prune{", option("fetches", request.fetches), option("targets", request.targets),
          option("feeds", feeds),
          "functions=false},tfg-v1-to-functional,tfg-partition{rank=", (*world)->rank(),
          " ranks=", (*world)->size(), " ", option("fetches", request.fetches), "}"));
  if (!graph) {
    (*world)->abort(graph.error());
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
