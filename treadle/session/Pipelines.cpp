#include "treadle/session/Pipelines.h"

#include "treadle/runtime/ValueName.h"

namespace treadle {

/// Formats a pass option that is a list of names; empty if there are none.
static std::string option(std::string_view name, const std::vector<std::string> &values) {
  std::string text;
  for (const std::string &value : values)
    text += str(text.empty() ? str(name, "=") : ",", value);
  return text.empty() ? text : text + " ";
}

std::string pruningTo(const Request &request, bool functions) {
  return str("tfg-prune{", option("fetches", request.fetches), option("targets", request.targets),
             option("feeds", request.feeds), "functions=", functions ? "true}" : "false}");
}

static std::vector<std::string> nodesOf(const std::vector<std::string> &values) {
  std::vector<std::string> nodes;
  for (const std::string &value : values)
    nodes.push_back(nodeOf(value));
  return nodes;
}

static std::vector<std::string> requestedNodes(const Request &request) {
  std::vector<std::string> asked = nodesOf(request.fetches);
  asked.insert(asked.end(), request.targets.begin(), request.targets.end());
  return asked;
}

std::string functionalPipeline(const Request &request, bool prunes) {
  std::vector<std::string> kept = nodesOf(request.feeds), asked = requestedNodes(request);
  kept.insert(kept.end(), asked.begin(), asked.end());
  return str(prunes ? pruningTo(request) + "," : "", "tfg-v1-to-functional{", option("keep", kept),
             "}");
}

std::string clusterPipeline(const Request &request, bool prunes) {
  return str(functionalPipeline(request, prunes), ",tfg-constant-folding{",
             option("feeds", nodesOf(request.feeds)),
             "identities=false control=false},tfg-outline-clusters{",
             option("keep", nodesOf(request.feeds)), option("fetches", requestedNodes(request)),
             "}");
}

} // namespace treadle
